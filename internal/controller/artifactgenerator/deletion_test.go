package artifactgenerator_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// gone waits until the generator and its artifacts are.
func (w *world) gone(name string) {
	w.t.Helper()
	w.until(func() error {
		g := &v1beta1.ArtifactGenerator{}
		err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, g)
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the generator is still there: %+v, %w", g.Status.Conditions, err)
		}
		return nil
	})
	if got := w.names(); len(got) > 0 {
		w.t.Errorf("artifacts are left: %q", got)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), w.generator(name)); err != nil {
		w.t.Fatal(err)
	}
}

// Deletions that are refused are retried, and the generator stays and says so
// until they are done (W16).
func TestDeletionIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(2))
	w.start()
	w.apply("all", each)
	w.ready("all", "True")
	w.quiet()
	w.traffic.refused.Store("DELETE /externalartifacts/a01")
	w.remove("all")
	g := w.ready("all", "False PruneFailed")
	if m := g.Status.Conditions[0].Message; !strings.Contains(m, "a01") || !strings.Contains(m, "refused by the test") {
		t.Errorf("message %q", m)
	}
	if got := w.names(); len(got) != 1 || got[0] != "a01" {
		t.Errorf("artifacts are %q", got)
	}
	if len(w.events.matching("all PruneFailed")) == 0 {
		t.Error("there is no event")
	}
	w.start() // and over a restart
	w.ready("all", "False PruneFailed")
	w.traffic.refused.Store("")
	w.gone("all")
}

// W16: pruning that is refused is not forgotten either: the artifact stays in the
// inventory until it is gone.
func TestPruningIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(2))
	w.start()
	w.apply("all", each)
	w.ready("all", "True")
	w.quiet()
	w.traffic.refused.Store("DELETE /externalartifacts/a01")
	w.source("main@2", apps(1))
	w.ready("all", "False")
	if n := len(w.generator("all").Status.Inventory); n != 2 {
		t.Errorf("the inventory has %d entries", n)
	}
	w.traffic.refused.Store("")
	g := w.ready("all", "True")
	if got := w.names(); len(got) != 1 || len(g.Status.Inventory) != 1 {
		t.Errorf("artifacts are %q, inventory %+v", got, g.Status.Inventory)
	}
}

// An artifact that somebody else's finalizer holds keeps its generator, which
// says what it waits for.
func TestDeletionWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(1))
	w.start()
	w.apply("all", each)
	w.ready("all", "True")
	o := w.artifact("a00")
	o.Finalizers = append(o.Finalizers, "example.com/hold")
	if err := w.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.quiet()
	w.remove("all")
	g := w.ready("all", "False PruneFailed")
	if want := "waiting for the deletion of 1 artifact (" + w.namespace + "/a00)"; g.Status.Conditions[0].Message != want {
		t.Errorf("message %q, want %q", g.Status.Conditions[0].Message, want)
	}
	o = w.artifact("a00")
	o.Finalizers = nil
	if err := w.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.gone("all")
}

// A suspended generator, one that fails and one whose source is gone are
// finalized like others, and the files go with a sweep.
func TestDeletionInAnyState(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*world){
		"suspended":         func(w *world) { w.annotate("all", v1beta1.AnnotationReconcile, "Disabled") },
		"without a source":  func(w *world) { w.point(v1beta1.SourceGitRepository, "mono", nil); w.ready("all", "False") },
		"with a wrong spec": func(w *world) { w.apply("all", strings.ReplaceAll(each, "@s/", "@t/")); w.ready("all", "False") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.source("main@1", apps(2))
			w.start()
			w.apply("all", each)
			w.ready("all", "True")
			w.quiet()
			before(w)
			w.quiet()
			w.remove("all")
			w.gone("all")
			w.until(func() error {
				if left := w.files(); len(left) > 0 {
					return fmt.Errorf("files are left: %q", left)
				}
				return nil
			})
		})
	}
}

// W17: what another generator has taken over is not deleted with the first.
func TestDeletionLeavesWhatIsOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("main@1", apps(1))
	w.start()
	w.apply("one", each)
	w.ready("one", "True")
	w.annotate("one", v1beta1.AnnotationReconcile, "Disabled")
	w.quiet()
	w.apply("two", each)
	w.ready("two", "True")
	w.quiet()
	w.remove("one")
	w.until(func() error {
		err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "one"}, &v1beta1.ArtifactGenerator{})
		if !apierrors.IsNotFound(err) {
			return errors.New("the generator is still there")
		}
		return nil
	})
	w.quiet()
	w.condition("a00", "True Succeeded")
	w.download(w.artifact("a00").Status.Artifact)
}
