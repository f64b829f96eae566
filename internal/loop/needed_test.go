package loop_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
)

const asked = "example.org/requestedAt"

// newLight returns a cluster of a kind whose finalizer is there only while its
// inventory is not empty, and whose requests are taken off.
func newLight(t *testing.T, edit ...func(*generator)) *cluster {
	t.Helper()
	g := newGenerator(edit...)
	c := newCluster(t, g)
	k := &c.loop.Kind
	k.Needed = func(g *generator) bool { return len(g.Status.Inventory) > 0 }
	k.Obsolete = []string{"example.org/old"}
	k.Request, k.Handled = asked, nil
	k.Unbounded = true
	k.Working = "Working"
	k.Conditions = func(g *generator) []metav1.Condition {
		s := metav1.ConditionFalse
		if g.IsDisabled() {
			s = metav1.ConditionTrue
		}
		return []metav1.Condition{{Type: "Suspended", Status: s, Reason: "Spec"}}
	}
	return c
}

func bare(g *generator) { g.Finalizers = nil }

// A finalizer is set before anything is made, and goes with the last of it.
func TestFinalizerWhileNeeded(t *testing.T) {
	c := newLight(t, bare)
	if _, err := c.reconcile(t); err != nil || len(c.get(t).Finalizers) != 0 || c.meta != 0 {
		t.Fatalf("nothing was made: finalizers %q, error %v", c.get(t).Finalizers, err)
	}
	c.steps = func(g *generator, p *loop.Pass) error {
		g.Status.Inventory = []v1beta1.InventoryEntry{{Name: "a", Digest: "sha256:0"}}
		for range 2 {
			if err := p.Record(t.Context(), "making"); err != nil {
				return err
			}
			is := c.get(t)
			if len(is.Finalizers) != 1 || len(is.Status.Inventory) == 0 || is.Status.Conditions[0].Reason != "Working" {
				t.Errorf("work begins with %q and %+v", is.Finalizers, is.Status)
			}
			g.Status.Inventory[0].Digest = "sha256:1"
		}
		if got := c.get(t).Status.Inventory[0].Digest; got != "sha256:1" {
			t.Errorf("the second record has %q", got)
		}
		return nil
	}
	if _, err := c.reconcile(t); err != nil || len(c.get(t).Finalizers) != 1 {
		t.Fatalf("something was made: finalizers %q, error %v", c.get(t).Finalizers, err)
	}
	c.steps = func(g *generator, _ *loop.Pass) error { g.Status.Inventory = nil; return nil }
	if _, err := c.reconcile(t); err != nil || len(c.get(t).Finalizers) != 0 {
		t.Fatalf("nothing is left: finalizers %q, error %v", c.get(t).Finalizers, err)
	}
}

// A pass that meant to make something and could not set the finalizer may have
// left word of it in the status. The next one sets the finalizer before it goes on.
func TestFinalizerIsMissing(t *testing.T) {
	c := newLight(t, bare)
	c.steps = func(g *generator, _ *loop.Pass) error {
		g.Status.Inventory = []v1beta1.InventoryEntry{{Name: "a", Digest: "sha256:0"}}
		return errors.New("setting the finalizer: no connection")
	}
	if _, err := c.reconcile(t); err == nil || len(c.get(t).Status.Inventory) == 0 {
		t.Fatalf("inventory %v, error %v", c.get(t).Status.Inventory, err)
	}
	begun := false
	c.steps = func(*generator, *loop.Pass) error {
		begun = true
		if is := c.get(t).Finalizers; len(is) != 1 {
			t.Errorf("work goes on with finalizers %q", is)
		}
		return nil
	}
	if _, err := c.reconcile(t); err != nil || !begun || len(c.get(t).Finalizers) != 1 {
		t.Fatalf("finalizers %q, error %v", c.get(t).Finalizers, err)
	}
}

// Finalizers of predecessors go, also from an object that has no other.
func TestObsoleteFinalizer(t *testing.T) {
	old := func(g *generator) { g.Finalizers = []string{"example.org/old", "others"} }
	c := newLight(t, old)
	if _, err := c.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"others"}, c.get(t).Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	c = newLight(t, func(g *generator) { g.Finalizers = []string{"example.org/old"} })
	if err := c.Delete(t.Context(), c.get(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "podinfo"}, &generator{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
}

// A request without a field in the status is taken off when the pass ends,
// however it ends, and when the object is suspended.
func TestRequestIsTakenOff(t *testing.T) {
	request := func(g *generator) { g.Annotations = map[string]string{asked: "now", "other": "x"} }
	suspend := func(g *generator) {
		request(g)
		g.Annotations[v1beta1.AnnotationReconcile] = "Disabled"
	}
	for name, c := range map[string]struct {
		edit func(*generator)
		err  error
	}{
		"success": {request, nil}, "failure": {request, fail.Stalled("Wrong", "wrong")}, "suspended": {suspend, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLight(t, c.edit)
			w.steps = func(_ *generator, p *loop.Pass) error {
				if !p.Requested {
					t.Error("the request is not seen")
				}
				return c.err
			}
			if _, err := w.reconcile(t); err != nil {
				t.Fatal(err)
			}
			if a := w.get(t).Annotations; a[asked] != "" || a["other"] != "x" {
				t.Errorf("annotations %v", a)
			}
		})
	}
}

// An unbounded interval is taken as it is, and there may be none.
func TestUnboundedInterval(t *testing.T) {
	for _, every := range []time.Duration{0, time.Second, time.Hour} {
		c := newLight(t)
		c.loop.Kind.Interval = func(*generator) time.Duration { return every }
		if res, err := c.reconcile(t); err != nil || res.RequeueAfter != every {
			t.Errorf("%s: again after %s, error %v", every, res.RequeueAfter, err)
		}
	}
}

// Further conditions stand beside those of the loop, and cost no write of their
// own.
func TestFurtherConditions(t *testing.T) {
	c := newLight(t)
	if _, err := c.reconcile(t); err != nil || c.status != 1 {
		t.Fatalf("%d writes, error %v", c.status, err)
	}
	got := c.get(t).Status.Conditions
	if len(got) != 2 || got[0].Type != "Ready" || got[1].Type != "Suspended" || got[1].Status != metav1.ConditionFalse {
		t.Fatalf("conditions %+v", got)
	}
	if _, err := c.reconcile(t); err != nil || c.status != 1 {
		t.Fatalf("%d writes, error %v", c.status, err)
	}
	c.edit(t, func(g *generator) { g.Annotations = map[string]string{v1beta1.AnnotationReconcile: "Disabled"} })
	if _, err := c.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if got := c.get(t).Status.Conditions; got[0].Status != metav1.ConditionTrue || got[1].Status != metav1.ConditionTrue {
		t.Errorf("conditions %+v", got)
	}
}
