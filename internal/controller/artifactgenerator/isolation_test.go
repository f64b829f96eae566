package artifactgenerator_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// D7: of 94 artifacts one of which has lost its path, 93 are published. The
// last one keeps its last good revision, which can still be downloaded, and
// Ready, one event and a count say so until it is well again.
func TestOneOfManyFails(t *testing.T) {
	t.Parallel()
	const n = 94
	w := newWorld(t)
	w.source("main@1", apps(n))
	w.start()
	var spec strings.Builder
	spec.WriteString("sources: [{alias: s, kind: GitRepository, name: mono}]\nartifacts:\n")
	for i := range n {
		fmt.Fprintf(&spec, "- {name: a%02d, copy: [{from: \"@s/apps/a%02d/k.yaml\", to: \"@artifact/\"}]}\n", i, i)
	}
	w.apply("many", spec.String())
	w.ready("many", "True")
	kept := w.artifact("a13").Status.Artifact
	entry := w.generator("many").Status.Inventory[13]

	files := map[string]string{}
	for name := range apps(n) {
		files[name] = "changed"
	}
	delete(files, "apps/a13/k.yaml")
	w.source("main@2", files)
	g := w.ready("many", "False BuildFailed")
	ready := apimeta.FindStatusCondition(g.Status.Conditions, "Ready")
	if want := `1 failed, 93 built: ` + w.namespace + `/a13: `; !strings.HasPrefix(ready.Message, want) || !strings.Contains(ready.Message, "apps/a13/k.yaml") {
		t.Errorf("message %q, want %q and the path", ready.Message, want)
	}
	if !apimeta.IsStatusConditionTrue(g.Status.Conditions, "Reconciling") || apimeta.FindStatusCondition(g.Status.Conditions, "Stalled") != nil {
		t.Errorf("conditions %+v: a file may come back", g.Status.Conditions)
	}
	if got := w.failing.Load(); got != 1 {
		t.Errorf("%d artifacts are counted as failing", got)
	}
	if len(g.Status.Inventory) != n || g.Status.Inventory[13] != entry {
		t.Errorf("the inventory has %d entries, and %+v for the one that was %+v", len(g.Status.Inventory), g.Status.Inventory[13], entry)
	}
	if diff := cmp.Diff(kept, w.artifact("a13").Status.Artifact); diff != "" {
		t.Errorf("the artifact that failed (-was +is):\n%s", diff)
	}
	for i := range n {
		if a := w.artifact(fmt.Sprintf("a%02d", i)).Status.Artifact; i != 13 && a.Revision == kept.Revision {
			t.Errorf("a%02d was not published: %+v", i, a)
		}
	}
	// It is tried again and again, and told once; the files that are superseded
	// are swept, and what is served is not.
	w.until(func() error {
		if len(w.events.matching("many GarbageCollectionSucceeded")) == 0 {
			return errors.New("nothing was swept")
		}
		return nil
	})
	w.download(kept)
	events := w.events.matching("many BuildFailed: 1 failed, 93 built")
	if len(events) != 1 || !events[0].Warning || events[0].Action != "Build" {
		t.Errorf("events %+v", events)
	}
	if events := w.events.matching("many ArtifactPublished: published 93 artifacts"); len(events) != 1 {
		t.Errorf("events of the others: %+v", events)
	}

	files["apps/a13/k.yaml"] = "back"
	w.source("main@3", files)
	w.ready("many", "True")
	w.until(func() error {
		if n := w.failing.Load(); n != 0 {
			return fmt.Errorf("%d artifacts are counted as failing", n)
		}
		return nil
	})
	if got := w.artifact("a13").Status.Artifact; got.Revision == kept.Revision {
		t.Errorf("the artifact is still %+v", got)
	}
}

// W28: an artifact that failed and whose last good file is gone too says so;
// the others of its generator are fine.
func TestKeptArtifactWithoutItsFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(2))
	w.start()
	w.apply("all", `
sources: [{alias: s, kind: GitRepository, name: mono}]
artifacts:
- {name: a00, copy: [{from: "@s/apps/a00/k.yaml", to: "@artifact/"}]}
- {name: a01, copy: [{from: "@s/apps/a01/k.yaml", to: "@artifact/"}]}`)
	w.ready("all", "True")
	w.quiet()
	w.end()
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.source("main@2", apps(1))
	w.start()
	w.ready("all", "False BuildFailed")
	w.condition("a00", "True Succeeded")
	w.condition("a01", "False ArtifactMissing")
	w.download(w.artifact("a00").Status.Artifact)
	w.quiet()
	w.source("main@3", apps(2))
	w.ready("all", "True")
	w.condition("a01", "True Succeeded")
}

// W28: nor does an artifact stay ready without its file when its generator cannot
// do anything, whatever the reason.
func TestStalledWithoutFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(1))
	w.start()
	w.apply("all", each)
	w.ready("all", "True")
	w.quiet()
	w.end()
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.apply("all", strings.ReplaceAll(each, "@s/", "@t/"))
	w.start()
	w.ready("all", "False ValidationFailed")
	w.condition("a00", "False ArtifactMissing")
	w.apply("all", each)
	w.ready("all", "True")
	w.condition("a00", "True Succeeded")
}

// W43, R112: a thousand changes are told in one event of each kind, with what
// machines want to know.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	const n = 50
	w := newWorld(t)
	w.publish(v1beta1.SourceGitRepository, "mono", "main@1", "", apps(n))
	w.start()
	w.apply("all", strings.Replace(each, `name: "{app}"`, `name: "{app}", originRevision: "@s"`, 1))
	w.ready("all", "True")
	w.quiet()
	events := w.events.matching("all ")
	if len(events) != 2 {
		t.Errorf("events %+v", events)
	}
	const group = "source.extensions.fluxcd.io/"
	for _, e := range events {
		if e.Metadata[group+"originRevision"] != "main@1" || len(e.Message) > 300 {
			t.Errorf("event %+v", e)
		}
	}
	files := apps(n)
	files["apps/a07/k.yaml"] = "changed"
	w.source("main@2", files)
	w.until(func() error {
		if len(w.events.matching("all ArtifactPublished: published 1 artifact ("+w.namespace+"/a07)")) != 1 {
			return errors.New("no event")
		}
		return nil
	})
	a := w.artifact("a07").Status.Artifact
	e := w.events.matching("published 1 artifact")[0]
	want := map[string]string{
		group + "revision": a.Revision, group + "originRevision": "main@2",
		group + "digest": strings.TrimPrefix(a.Revision, "latest@"), group + "token": e.Metadata[group+"token"],
	}
	if diff := cmp.Diff(want, e.Metadata); diff != "" || e.Action != "Publish" {
		t.Errorf("action %q, metadata (-want +got):\n%s", e.Action, diff)
	}
}

// W22, W30: what no retry can put right stalls, is tried again for no reason but
// a change, and does not stop the rest.
func TestWhatStalls(t *testing.T) {
	t.Parallel()
	bad := apps(2)
	bad["apps/.hidden/k.yaml"] = "k"
	for name, c := range map[string]struct {
		files  map[string]string
		spec   string
		reason string
		made   []string
	}{
		"an unknown alias": {apps(1), strings.ReplaceAll(each, "@s/", "@t/"), v1beta1.ReasonValidationFailed, nil},
		"a bad glob":       {apps(1), strings.Replace(each, "/**", "/[", 1), v1beta1.ReasonValidationFailed, nil},
		"one name twice": {apps(1), "sources: [{alias: s, kind: GitRepository, name: mono}]\nartifacts:" + strings.Repeat(`
- {name: a, copy: [{from: "@s/**", to: "@artifact/"}]}`, 2), v1beta1.ReasonValidationFailed, nil},
		"a bad directory name": {bad, each, v1beta1.ReasonBuildFailed, []string{"a00", "a01"}},
		"two directories, one name": {
			map[string]string{"apps/a/k": "", "apps/A/k": "", "apps/b/k": ""}, each, v1beta1.ReasonBuildFailed, []string{"b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.source("main@1", c.files)
			w.start()
			w.apply("all", c.spec)
			g := w.ready("all", "False "+c.reason)
			stalled := apimeta.FindStatusCondition(g.Status.Conditions, "Stalled")
			if stalled == nil || stalled.Reason != c.reason || apimeta.FindStatusCondition(g.Status.Conditions, "Reconciling") != nil {
				t.Errorf("conditions %+v", g.Status.Conditions)
			}
			w.quiet()
			before := w.passes.Load()
			w.quiet()
			if n := w.passes.Load() - before; n > 0 {
				t.Errorf("it is tried again %d times", n)
			}
			if got := w.names(); !slices.Equal(got, c.made) {
				t.Errorf("artifacts are %q, want %q", got, c.made)
			}
			w.source("main@2", apps(1))
			w.apply("all", each)
			w.ready("all", "True")
		})
	}
}
