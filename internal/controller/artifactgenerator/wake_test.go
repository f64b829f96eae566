package artifactgenerator_test

import (
	"fmt"
	"testing"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/source"
)

// passed waits until there was a pass since do.
func (w *world) passed(what string, do func()) {
	w.t.Helper()
	w.quiet()
	before := w.passes.Load()
	do()
	w.until(func() error {
		if w.passes.Load() == before {
			return fmt.Errorf("%s wakes nobody", what)
		}
		return nil
	})
}

// W18: every change of a source that an artifact could depend on wakes its
// generators, whatever the kind of the source (2.10, #303).
func TestSourcesWake(t *testing.T) {
	t.Parallel()
	for _, kind := range source.Kinds() {
		for _, direct := range []bool{false, true} {
			if direct && kind != v1beta1.SourceBucket {
				continue // one kind will do
			}
			t.Run(fmt.Sprintf("%s direct=%v", kind, direct), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.direct.Store(direct)
				w.start()
				w.apply("gen", fmt.Sprintf(`
sources: [{alias: s, kind: %s, name: src}]
artifacts: [{name: art, originRevision: "@s", copy: [{from: "@s/**", to: "@artifact/"}]}]`, kind))
				w.ready("gen", "False SourceFetchFailed")
				publish := func(revision, origin, content string) {
					t.Helper()
					w.publish(kind, "src", revision, origin, map[string]string{"k.yaml": content})
				}
				w.passed("a source that comes", func() { publish("main@1", "o@1", "1") })
				w.ready("gen", "True")
				w.passed("another revision", func() { publish("main@2", "o@1", "1") })
				w.passed("another origin revision", func() { publish("main@2", "o@2", "1") })
				before := w.artifact("art").Status.Artifact.Digest
				w.passed("another digest", func() { publish("main@2", "o@2", "2") })
				w.until(func() error {
					a := w.artifact("art").Status.Artifact
					if a.Digest == before || a.Metadata[v1beta1.OriginRevisionKey] != "o@2" {
						return fmt.Errorf("the artifact is %+v", a)
					}
					return nil
				})
				w.passed("an artifact that goes", func() { w.point(kind, "src", nil) })
				w.ready("gen", "False SourceFetchFailed")
				publish("main@2", "o@2", "2")
				w.ready("gen", "True")
				w.passed("a source that goes", func() {
					o, _ := newSource(kind)
					o.SetNamespace(w.namespace)
					o.SetName("src")
					if err := w.client.Delete(t.Context(), o); err != nil {
						t.Fatal(err)
					}
				})
				w.ready("gen", "False SourceFetchFailed")
			})
		}
	}
}

// Sources are read from the API server if that is asked for, and otherwise not.
func TestDirectSources(t *testing.T) {
	t.Parallel()
	for _, direct := range []bool{false, true} {
		t.Run(fmt.Sprintf("direct=%v", direct), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.direct.Store(direct)
			w.source("main@1", apps(1))
			w.traffic.refused.Store("GET /gitrepositories/mono")
			w.start()
			w.apply("all", each)
			if direct {
				w.ready("all", "False SourceFetchFailed")
				w.traffic.refused.Store("")
			}
			w.ready("all", "True")
		})
	}
}

// What a user does to a generator wakes it, and what does not concern it does
// not.
func TestGeneratorsWake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(1))
	w.start()
	w.apply("all", each)
	w.ready("all", "True")
	for _, c := range []struct{ key, value string }{
		{v1beta1.AnnotationRequestedAt, "1"},
		{v1beta1.AnnotationReconcileEvery, "1h"},
		{v1beta1.AnnotationPrune, "Force"},
	} {
		w.passed(c.key, func() { w.annotate("all", c.key, c.value) })
	}
	w.passed("a spec", func() { w.apply("all", each+"\ncommonMetadata: {labels: {a: b}}") })
	w.until(func() error {
		if got := w.artifact("a00").Labels["a"]; got != "b" {
			return fmt.Errorf("label %q", got)
		}
		return nil
	})
	w.annotate("all", v1beta1.AnnotationReconcile, "disabled")
	w.quiet()
	before := w.passes.Load()
	w.annotate("all", v1beta1.AnnotationRequestedAt, "2")
	w.until(func() error {
		if got := w.generator("all").Status.LastHandledReconcileAt; got != "2" {
			return fmt.Errorf("a request to a suspended generator is answered by %q", got)
		}
		return nil
	})
	w.annotate("all", "example.com/unrelated", "x")
	w.quiet()
	if n := w.passes.Load() - before; n != 0 {
		t.Errorf("%d passes over a suspended generator", n)
	}
	w.passed("the end of a suspension", func() { w.annotate("all", v1beta1.AnnotationReconcile, "Enabled") })
	w.quiet()
	before = w.passes.Load()
	w.annotate("all", "example.com/unrelated", "y")
	w.quiet()
	if n := w.passes.Load() - before; n != 0 {
		t.Errorf("%d passes because of an annotation of somebody else", n)
	}
}

// Generators of generators' artifacts end up with what the first source has,
// whatever order they come in, and say whom they wait for.
func TestChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	link := func(name string, kind v1beta1.SourceKind, from string) {
		t.Helper()
		w.apply(name, fmt.Sprintf(`
sources: [{alias: s, kind: %s, name: %s}]
artifacts: [{name: ea-%s, originRevision: "@s", copy: [{from: "@s/**", to: "@artifact/"}]}]`, kind, from, name))
	}
	link("c", v1beta1.SourceExternalArtifact, "ea-b")
	link("b", v1beta1.SourceExternalArtifact, "ea-a")
	link("a", v1beta1.SourceGitRepository, "mono")
	w.until(func() error {
		want := fmt.Sprintf(`source "s": ExternalArtifact/%s/ea-b not found, which ArtifactGenerator %s/b is to make`, w.namespace, w.namespace)
		if got := w.generator("c").Status.Conditions; len(got) == 0 || got[0].Message != want {
			return fmt.Errorf("conditions %+v, want the message %q", got, want)
		}
		return nil
	})
	for _, revision := range []string{"main@1", "main@2"} {
		w.source(revision, map[string]string{"k.yaml": revision})
		w.until(func() error {
			o := w.artifactOrNil("ea-c")
			if o == nil || o.Status.Artifact == nil || o.Status.Artifact.Metadata[v1beta1.OriginRevisionKey] != revision {
				return fmt.Errorf("the end of the chain is %+v, want that of %s", o, revision)
			}
			return nil
		})
	}
	w.ready("c", "True")
	w.quiet()
}

// W25: generators that wait for each other's artifacts, of which none was ever
// there, say so and do nothing more; the one that breaks the cycle frees all.
func TestCycleThatNeverBuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(1))
	w.start()
	link := func(name, kind, from string) {
		t.Helper()
		w.apply(name, fmt.Sprintf(`
sources: [{alias: s, kind: %s, name: %s}]
artifacts: [{name: ea-%s, copy: [{from: "@s/**", to: "@artifact/"}]}]`, kind, from, name))
	}
	link("a", "ExternalArtifact", "ea-b")
	link("b", "ExternalArtifact", "ea-a")
	// The first of them waits for what may yet come; it learns of the second at
	// its next try.
	for _, name := range []string{"a", "b"} {
		g := w.ready(name, "False ValidationFailed")
		if c := g.Status.Conditions; len(c) != 2 || c[1].Type != "Stalled" {
			t.Errorf("conditions of %s: %+v", name, c)
		}
	}
	w.quiet()
	before := w.passes.Load()
	w.quiet()
	if n := w.passes.Load() - before; n > 0 {
		t.Errorf("%d passes over a cycle in a second", n)
	}
	link("a", "GitRepository", "mono")
	w.ready("a", "True")
	w.ready("b", "True")
}
