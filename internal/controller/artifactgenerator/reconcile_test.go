package artifactgenerator_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

const each = `
sources: [{alias: s, kind: GitRepository, name: mono}]
pathPattern: "@s/apps/{app}"
artifacts: [{name: "{app}", copy: [{from: "@s/apps/{app}/**", to: "@artifact/"}]}]`

func apps(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("apps/a%02d/k.yaml", i)] = fmt.Sprintf("k: %d\n", i)
	}
	return files
}

// W1, W3, W6: every write has a reason: two for an artifact that is new, one for
// one that changed, two for the status of the generator, and none when nothing
// changed, not even after a restart. A source is downloaded once for all, and
// stored files are not read.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	const n = 20
	w := newWorld(t)
	w.source("main@1", apps(n))
	w.start()
	count := func(what string, writes, reads, downloads int64, do func()) {
		t.Helper()
		w.quiet()
		w.traffic.reset()
		w.read.Store(0)
		do()
		w.until(func() error {
			if n, m := w.traffic.writes.Load(), w.traffic.downloads.Load(); n < writes || m < downloads {
				return fmt.Errorf("%s: only %d writes and %d downloads, want %d and %d:\n%s", what, n, m, writes, downloads, w.traffic)
			}
			return nil
		})
		w.quiet() // and no more
		if got := w.traffic.writes.Load(); got != writes {
			t.Errorf("%s: %d writes, want %d:\n%s", what, got, writes, w.traffic)
		}
		if got := w.traffic.reads.Load(); got != reads {
			t.Errorf("%s: %d objects were read, want %d", what, got, reads)
		}
		if got := w.traffic.downloads.Load(); got != downloads {
			t.Errorf("%s: %d downloads, want %d", what, got, downloads)
		}
		if got := w.read.Load(); got != 0 {
			t.Errorf("%s: %d bytes of stored files were read", what, got)
		}
	}
	changes := func(name string, do func()) func() {
		return func() {
			t.Helper()
			before := w.artifact(name).ResourceVersion
			do()
			w.until(func() error {
				if w.artifact(name).ResourceVersion == before {
					return errors.New("nothing happens")
				}
				return nil
			})
		}
	}
	const status = 2                                      // that work begins, and how it ends
	count("the first build", 1+2*n+status, n, 1, func() { // the finalizer is one
		w.apply("all", each)
		w.ready("all", "True")
	})
	if got := len(w.generator("all").Status.Inventory); got != n {
		t.Errorf("the inventory has %d entries", got)
	}
	files := apps(n)
	files["apps/a07/k.yaml"] = "changed"
	count("one changed", 1+status, 0, 1, changes("a07", func() { w.source("main@2", files) }))
	count("the same content from another commit", 1, 0, 1, func() {
		files["unrelated"] = "x"
		w.source("main@3", files)
	})
	count("a request", 1, 0, 0, func() {
		w.annotate("all", v1beta1.AnnotationRequestedAt, "now")
		w.until(func() error {
			if got := w.generator("all").Status.LastHandledReconcileAt; got != "now" {
				return fmt.Errorf("handled %q", got)
			}
			return nil
		})
	})
	count("a pass with nothing to do", 0, 0, 0, func() { w.annotate("all", v1beta1.AnnotationReconcileEvery, "2h") })
	count("another generator of the source", 1+2+status, 2, 0, func() {
		w.apply("one", `
sources: [{alias: s, kind: GitRepository, name: mono}]
artifacts: [{name: one, copy: [{from: "@s/apps/a00/**", to: "@artifact/"}]}]`)
		w.ready("one", "True")
	})
	count("a restart", 0, n+1, 1, func() { w.start() })
	count("an edited status", 1, 1, 0, changes("a03", func() {
		o := w.artifact("a03")
		o.Status.Artifact.Revision = "x"
		if err := w.client.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}))
	count("a label for all", n+status-1, 2*n, 0, func() { // nothing is built: how it ends is all there is to say
		w.apply("all", each+"\ncommonMetadata: {labels: {a: b}}")
		w.until(func() error {
			if w.artifact("a19").Labels["a"] != "b" {
				return errors.New("nothing happens")
			}
			return nil
		})
	})
	count("its deletion", n+1, 2*n, 0, func() { // the finalizer is one
		w.remove("all")
		w.until(func() error {
			if len(w.names()) > 1 {
				return errors.New("there are artifacts")
			}
			return nil
		})
	})
}

// A source that is missing or cannot be downloaded says so, and what was made
// of it before stays.
func TestSourceFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.apply("all", each)
	g := w.ready("all", "False SourceFetchFailed")
	if m := g.Status.Conditions[0].Message; !strings.Contains(m, "GitRepository/"+w.namespace+"/mono not found") {
		t.Errorf("message %q", m)
	}
	w.source("main@1", apps(2))
	w.ready("all", "True")
	was := w.artifact("a00").ResourceVersion
	w.source("main@2", apps(1))
	w.mu.Lock()
	good := w.balls
	w.balls = map[string][]byte{}
	w.mu.Unlock()
	w.start() // with an empty cache
	w.ready("all", "False SourceFetchFailed")
	if w.artifact("a00").ResourceVersion != was || len(w.names()) != 2 {
		t.Error("the artifacts did not stay")
	}
	w.mu.Lock()
	w.balls = good
	w.mu.Unlock()
	w.ready("all", "True")
	if got := w.names(); !slices.Equal(got, []string{"a00"}) {
		t.Errorf("artifacts are %q", got)
	}
}

// A generator takes an artifact over once; when it is taken back, it says so
// and lets it be.
func TestFight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(1))
	w.start()
	w.apply("one", each)
	w.ready("one", "True")
	w.apply("two", each)
	w.until(func() error {
		if len(w.events.matching("two OwnershipConflict: took over")) == 0 {
			return errors.New("no event of a takeover")
		}
		return nil
	})
	w.quiet()
	loser := 0
	for _, name := range []string{"one", "two"} {
		for _, c := range w.generator(name).Status.Conditions {
			if c.Type == "Ready" && c.Reason == v1beta1.ReasonOwnershipConflict {
				loser++
			}
		}
	}
	if loser != 1 {
		t.Errorf("%d generators report a fight, want 1: %+v\n%+v", loser, w.generator("one").Status.Conditions, w.generator("two").Status.Conditions)
	}
}

// A slip in the path pattern deletes nothing until that is confirmed; a source
// in which nothing matches any more does.
func TestPatternThatMatchesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(2))
	w.start()
	w.apply("all", each)
	w.ready("all", "True")
	w.apply("all", strings.ReplaceAll(each, "@s/apps/", "@s/aps/"))
	g := w.ready("all", "False BuildFailed")
	if m := g.Status.Conditions[0].Message; !strings.Contains(m, "2 artifacts") || len(w.names()) != 2 {
		t.Errorf("message %q, artifacts %q", m, w.names())
	}
	w.annotate("all", v1beta1.AnnotationPrune, "Force")
	w.ready("all", "True")
	if got := w.names(); len(got) != 0 {
		t.Errorf("artifacts are %q", got)
	}
	w.apply("all", each)
	w.ready("all", "True")
	w.source("main@2", map[string]string{"README.md": ""})
	w.until(func() error {
		if got := w.names(); len(got) != 0 {
			return fmt.Errorf("artifacts are %q", got)
		}
		return nil
	})
}

// W26: files that are gone are made again, with the same content, and Ready is not
// claimed while they are not there.
func TestEmptyVolume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(3))
	w.start()
	w.apply("all", each)
	g := w.ready("all", "True")
	was := w.artifact("a01").Status.Artifact
	w.quiet()
	w.end()
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.until(func() error {
		_, err := os.Stat(w.dir + "/" + was.Path)
		return err
	})
	w.quiet()
	if diff := cmp.Diff(was, w.artifact("a01").Status.Artifact); diff != "" {
		t.Errorf("the artifact changed (-was +is):\n%s", diff)
	}
	if diff := cmp.Diff(g.Status.Inventory, w.ready("all", "True").Status.Inventory); diff != "" {
		t.Errorf("the inventory changed (-was +is):\n%s", diff)
	}
}

// W28: an ExternalArtifact whose file is gone says so when it cannot be made again.
func TestFileGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(1))
	w.start()
	w.apply("all", each)
	w.ready("all", "True")
	w.quiet()
	w.end()
	w.mu.Lock()
	balls := w.balls
	w.balls = nil
	w.mu.Unlock()
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.ready("all", "False SourceFetchFailed")
	w.condition("a00", "False ArtifactMissing")
	w.mu.Lock()
	w.balls = balls
	w.mu.Unlock()
	w.ready("all", "True")
	w.condition("a00", "True Succeeded")
}

// Generators that are made of each other are told so, and do not chase each
// other.
func TestCycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(1))
	w.start()
	spec := func(kind, name, artifact string) string {
		return fmt.Sprintf(`
sources: [{alias: s, kind: %s, name: %s}]
artifacts: [{name: %s, copy: [{from: "@s/", to: "@artifact/x/"}]}]`, kind, name, artifact)
	}
	w.apply("a", spec("GitRepository", "mono", "ea-a"))
	w.apply("b", spec("ExternalArtifact", "ea-a", "ea-b"))
	w.until(func() error {
		if !slices.Contains(w.names(), "ea-b") {
			return errors.New("the chain is not there yet")
		}
		return nil
	})
	w.apply("a", spec("ExternalArtifact", "ea-b", "ea-a"))
	w.ready("a", "False ValidationFailed")
	w.quiet()
	w.apply("a", spec("GitRepository", "mono", "ea-a"))
	w.ready("a", "True")
}

// R50: inputs of every type survive the API server, but for a null at the top, which
// the kind does not allow.
func TestInputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", map[string]string{"in.yaml": "i: 3\nf: 1.50\ns: yes please\nn: null\nm: {a: null, b: [1, null]}\n"})
	w.start()
	w.apply("all", `
sources: [{alias: s, kind: GitRepository, name: mono}]
artifacts: [{name: art, inputsFrom: "@s/in.yaml", copy: [{from: "@s/**", to: "@artifact/"}]}]`)
	w.ready("all", "True")
	got := map[string]string{}
	for name, v := range w.artifact("art").Status.ExportedInputs {
		got[name] = string(v.Raw)
	}
	want := map[string]string{"i": "3", "f": "1.5", "s": `"yes please"`, "m": `{"a":null,"b":[1,null]}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.quiet()
	w.traffic.writes.Store(0)
	w.start()
	w.quiet()
	if n := w.traffic.writes.Load(); n != 0 {
		t.Errorf("%d writes after a restart", n)
	}
}

// R40–R49: inputs follow their file without a new revision, go with their
// field, and are kept as they were when the file is wrong.
func TestInputsFollow(t *testing.T) {
	t.Parallel()
	const spec = `
sources: [{alias: s, kind: GitRepository, name: mono}]
artifacts: [{name: art, inputsFrom: "@s/in.yaml", copy: [{from: "@s/k.yaml", to: "@artifact/"}]}]`
	w := newWorld(t)
	w.source("main@1", map[string]string{"k.yaml": "k", "in.yaml": "replicas: 3"})
	w.start()
	w.apply("all", spec)
	w.ready("all", "True")
	was := w.artifact("art").Status.Artifact
	inputs := func(want string) {
		t.Helper()
		w.until(func() error {
			got := ""
			if v := w.artifact("art").Status.ExportedInputs["replicas"]; v != nil {
				got = string(v.Raw)
			}
			if got != want {
				return fmt.Errorf("replicas are %q, want %q", got, want)
			}
			return nil
		})
		if diff := cmp.Diff(was, w.artifact("art").Status.Artifact); diff != "" {
			t.Errorf("the artifact (-was +is):\n%s", diff)
		}
	}
	inputs("3")
	w.source("main@2", map[string]string{"k.yaml": "k", "in.yaml": "replicas: 4"})
	inputs("4")
	w.quiet()
	if n := len(w.events.matching("all ArtifactPublished")); n != 1 {
		t.Errorf("%d events of published artifacts, want that of the first", n)
	}
	for _, wrong := range []string{"- a\n- list", "scalar", "a: 1\n---\nb: 2", "a: [", "x: " + strings.Repeat("long ", 1<<18)} {
		w.source("main@"+wrong[:1], map[string]string{"k.yaml": "k", "in.yaml": wrong})
		w.ready("all", "False BuildFailed")
		inputs("4")
	}
	w.source("main@4", map[string]string{"k.yaml": "k"})
	g := w.ready("all", "False BuildFailed")
	if m := g.Status.Conditions[0].Message; !strings.Contains(m, "in.yaml") {
		t.Errorf("message %q", m)
	}
	inputs("4")
	w.source("main@5", map[string]string{"k.yaml": "k", "in.yaml": "{}"})
	w.ready("all", "True")
	inputs("")
	w.source("main@6", map[string]string{"k.yaml": "k", "in.yaml": "replicas: 5"})
	inputs("5")
	w.apply("all", strings.Replace(spec, `inputsFrom: "@s/in.yaml", `, "", 1))
	inputs("")
	w.ready("all", "True")
}

// R115: no metadata of the spec overrides the labels by which artifacts are
// known, and captures win over common metadata.
func TestLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(1))
	w.start()
	w.apply("all", each+`
commonMetadata: {labels: {app: other, team: a, app.kubernetes.io/managed-by: me, source.extensions.fluxcd.io/generator: x}}`)
	w.ready("all", "True")
	want := map[string]string{
		"app": "a00", "team": "a", v1beta1.LabelManagedBy: "weir", v1beta1.LabelGenerator: string(w.generator("all").UID),
	}
	if diff := cmp.Diff(want, w.artifact("a00").Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// W16: whatever write is the last of a process, the next one ends where it would
// have, and nothing is left behind.
func TestEndsBetweenWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(3))
	for left := range int64(12) {
		name := fmt.Sprintf("g%d", left)
		w.start()
		w.quiet()
		w.traffic.left.Store(left)
		w.apply(name, each)
		w.quiet()
		w.start()
		g := w.ready(name, "True")
		if got := w.names(); len(got) != 3 || len(g.Status.Inventory) != 3 {
			t.Errorf("after %d writes: artifacts %q, inventory %+v", left, got, g.Status.Inventory)
		}
		// The same at the end of a generator.
		w.quiet()
		w.traffic.left.Store(left % 5)
		if err := w.client.Delete(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		w.quiet()
		w.start()
		w.until(func() error {
			err := w.client.Get(t.Context(), client.ObjectKeyFromObject(g), g)
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("the generator is still there: %w", err)
			}
			return nil
		})
		if got := w.names(); len(got) != 0 {
			t.Errorf("after %d writes: artifacts %q are left", left%5, got)
		}
	}
}
