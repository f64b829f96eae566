package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/publish"
	"github.com/weir-dev/weir/internal/controller/report"
	"github.com/weir-dev/weir/internal/controller/space"
)

func generator() *v1beta1.ArtifactGenerator {
	g := &v1beta1.ArtifactGenerator{}
	g.Namespace, g.Name = "apps", "gen"
	return g
}

func change(name string, kind publish.Kind, revised bool) publish.Change {
	c := publish.Change{Key: external.KeyOf("apps", name), Kind: kind, Revised: revised}
	if kind != publish.Deleted {
		c.Artifact = &build.Artifact{Namespace: "apps", Name: name, Revision: "latest@" + name, OriginRevision: "main@1"}
	}
	return c
}

func namespace(name string, kind publish.Kind) publish.Change {
	c := publish.Change{Key: space.KeyOf(name), Kind: kind}
	if kind == publish.Left {
		c.Why = "it says so"
	}
	return c
}

// R112, R113: each kind of change has its event, and objects that change hands
// have one of their own.
func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		changes []publish.Change
		repairs bool
		want    []string
	}{
		"nothing": {},
		"new and changed": {
			changes: []publish.Change{change("a", publish.Created, true), change("b", publish.Updated, true)},
			want:    []string{"gen Normal ArtifactPublished Publish: published 2 artifacts (apps/a, apps/b)"},
		},
		"labels or inputs only": {
			changes: []publish.Change{change("a", publish.Updated, false)},
			want:    []string{"gen Trace ArtifactUpdated Publish: updated the labels, annotations or inputs of 1 artifact (apps/a)"},
		},
		"repaired": {
			changes: []publish.Change{change("a", publish.Updated, true), change("b", publish.Created, true)},
			repairs: true,
			want:    []string{"gen Normal DriftCorrected Publish: repaired what others had changed of 2 artifacts (apps/a, apps/b)"},
		},
		"repaired, the label too": {
			changes: []publish.Change{change("a", publish.Adopted, false)},
			repairs: true,
			want:    []string{"gen Normal DriftCorrected Publish: repaired what others had changed of 1 artifact (apps/a)"},
		},
		"adopted": {
			changes: []publish.Change{change("a", publish.Adopted, true)},
			want: []string{
				"a Warning Adopted Publish: ExternalArtifact apps/a, managed by no generator, is adopted by ArtifactGenerator apps/gen",
				"gen Warning Adopted Publish: adopted 1 artifact (apps/a)",
				"gen Normal ArtifactPublished Publish: published 1 artifact (apps/a)",
			},
		},
		"taken over without news": {
			changes: []publish.Change{change("a", publish.TakenOver, false)},
			want: []string{
				"a Warning OwnershipConflict Publish: ExternalArtifact apps/a, managed by another generator, is taken over by ArtifactGenerator apps/gen",
				"gen Warning OwnershipConflict Publish: took over 1 artifact (apps/a) from other generators",
			},
		},
		"deleted beside a repair": {
			changes: []publish.Change{change("a", publish.Deleted, false), change("b", publish.Updated, false)},
			repairs: true,
			want: []string{
				"gen Normal DriftCorrected Publish: repaired what others had changed of 1 artifact (apps/b)",
				"gen Normal ArtifactPruned Prune: deleted 1 artifact (apps/a)",
			},
		},
		"namespaces": {
			changes: []publish.Change{
				namespace("new", publish.Created), namespace("moved", publish.Updated), namespace("found", publish.Adopted),
				namespace("taken", publish.TakenOver), namespace("old", publish.Deleted), namespace("kept", publish.Left),
			},
			want: []string{
				"taken Warning OwnershipConflict Manage: Namespace taken, managed by another generator, is taken over by ArtifactGenerator apps/gen",
				"gen Warning OwnershipConflict Manage: took over from other generators 1 namespace (taken)",
				"found Warning Adopted Manage: Namespace found, managed by no generator, is adopted by ArtifactGenerator apps/gen",
				"gen Warning Adopted Manage: adopted 1 namespace (found)",
				"new Normal NamespaceCreated Manage: Namespace new, is created by ArtifactGenerator apps/gen",
				"gen Normal NamespaceCreated Manage: created 1 namespace (new)",
				"moved Normal NamespaceUpdated Manage: Namespace moved, is updated by ArtifactGenerator apps/gen",
				"gen Normal NamespaceUpdated Manage: updated 1 namespace (moved)",
				"old Normal NamespacePruned Prune: Namespace old, is deleted by ArtifactGenerator apps/gen",
				"gen Normal NamespacePruned Prune: deleted 1 namespace (old)",
				"kept Normal NamespaceLeft Prune: Namespace kept, is no longer managed by ArtifactGenerator apps/gen: it says so",
				"gen Normal NamespaceLeft Prune: no longer manages, and leaves as they are, 1 namespace (kept)",
			},
		},
		"a repaired namespace": {
			changes: []publish.Change{namespace("a", publish.Updated)}, repairs: true,
			want: []string{
				"a Normal DriftCorrected Manage: Namespace a, was changed by others and is repaired by ArtifactGenerator apps/gen",
				"gen Normal DriftCorrected Manage: repaired what others had changed of 1 namespace (a)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, show(report.Of(generator(), c.changes, c.repairs))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func show(notes []report.Note) []string {
	var out []string
	for _, n := range notes {
		kind := "Normal"
		switch {
		case n.Warning:
			kind = "Warning"
		case n.Trace:
			kind = "Trace"
		}
		out = append(out, fmt.Sprintf("%s %s %s %s: %s", n.About.GetName(), kind, n.Reason, n.Action, n.Message))
	}
	return out
}

// A thousand artifacts are told of in one event that is as long as that of
// five, and of those that change hands only some are told each.
func TestManyChangesAreBounded(t *testing.T) {
	var changes []publish.Change
	for i := range 1000 {
		changes = append(changes, change(fmt.Sprintf("a%04d", i), publish.Created, true))
	}
	notes := report.Of(generator(), changes, false)
	if len(notes) != 1 || len(notes[0].Message) > 100 || len(notes[0].Metadata) > 4 {
		t.Errorf("%d notes, the first being %+v", len(notes), notes[0])
	}
	for i := range changes {
		changes[i].Kind = publish.TakenOver
	}
	if n := len(report.Of(generator(), changes, false)); n > 25 {
		t.Errorf("%d notes of a takeover", n)
	}
}

// Metadata of an event say what is true of all its artifacts, under the keys
// that notification-controller looks for.
func TestMetadata(t *testing.T) {
	const group = "source.extensions.fluxcd.io/"
	of := func(changes ...publish.Change) map[string]string {
		t.Helper()
		m := report.Of(generator(), changes, false)[0].Metadata
		if !strings.HasPrefix(m[group+"token"], "sha256:") {
			t.Errorf("no token in %v", m)
		}
		delete(m, group+"token")
		return m
	}
	a, b := change("a", publish.Created, true), change("b", publish.Created, true)
	want := map[string]string{
		group + "revision": "latest@a", group + "originRevision": "main@1",
		group + "digest": "sha256:" + strings.Repeat("0", 64),
	}
	if diff := cmp.Diff(want, of(a)); diff != "" {
		t.Errorf("of one (-want +got):\n%s", diff)
	}
	delete(want, group+"revision")
	if diff := cmp.Diff(want, of(a, b)); diff != "" {
		t.Errorf("of two of one origin (-want +got):\n%s", diff)
	}
	b.Artifact.OriginRevision = ""
	b.Artifact.Content[0] = 1
	if diff := cmp.Diff(map[string]string{}, of(a, b)); diff != "" {
		t.Errorf("of two that have nothing in common (-want +got):\n%s", diff)
	}
}

// Two events about other revisions of the same artifacts are not the same
// event to who drops repetitions.
func TestTokens(t *testing.T) {
	token := func(changes ...publish.Change) string {
		return report.Of(generator(), changes, false)[0].Metadata["source.extensions.fluxcd.io/token"]
	}
	a, b := change("a", publish.Created, true), change("b", publish.Created, true)
	first := token(a, b)
	if token(a, b) != first {
		t.Error("the same changes have two tokens")
	}
	b.Artifact.Revision = "latest@c"
	if token(a, b) == first {
		t.Error("other revisions have the same token")
	}
}

// The API server's recorder takes events about an object at one version for the
// same, so that what happens to it next must name the next version.
func TestObjectsAreNamedWithTheirVersion(t *testing.T) {
	for _, c := range []publish.Change{change("a", publish.TakenOver, true), namespace("n", publish.TakenOver)} {
		c.UID, c.Version = "u", "7"
		told := false
		for _, n := range report.Of(generator(), []publish.Change{c}, false) {
			told = told || n.About.GetUID() == "u" && n.About.GetResourceVersion() == "7"
		}
		if !told {
			t.Errorf("no event is about version 7 of %s", c.Key)
		}
	}
}
