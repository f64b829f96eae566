package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/step"
)

func annotate(g *generator) {
	g.Annotations = map[string]string{"example.com/note": "x"}
}

// What others write during a pass neither loses its work nor is lost.
func TestOthersWrite(t *testing.T) {
	for name, c := range map[string]struct {
		other  func(t *testing.T, cl *cluster)
		begin  bool // when: before the first write or before the last
		passes int  // until it is done
		want   []string
	}{
		"an annotation, at the end": {
			other: func(t *testing.T, cl *cluster) { cl.edit(t, annotate) }, passes: 1,
			want: []string{"Ready=True Succeeded@2: built"},
		},
		"an annotation, at the start": {
			other: func(t *testing.T, cl *cluster) { cl.edit(t, annotate) }, passes: 1, begin: true,
			want: []string{"Ready=True Succeeded@2: built"},
		},
		"the spec, at the end": { // What was done was done for the older one.
			other: func(t *testing.T, cl *cluster) { cl.edit(t, func(g *generator) { g.Generation = 3 }) }, passes: 1,
			want: []string{"Ready=True Succeeded@2: built"},
		},
		"the spec, at the start": { // Nothing was done for the older one.
			other: func(t *testing.T, cl *cluster) { cl.edit(t, func(g *generator) { g.Generation = 3 }) }, passes: 2, begin: true,
			want: []string{"Ready=True Succeeded@3: built"},
		},
		"the status": {
			other: func(t *testing.T, cl *cluster) {
				g := cl.get(t)
				g.Status.ObservedSourcesDigest = "sha256:9"
				if err := cl.Status().Update(t.Context(), g); err != nil {
					t.Fatal(err)
				}
			}, passes: 2, want: []string{"Ready=True Succeeded@2: built"},
		},
		"another object of that name": {
			other: func(t *testing.T, cl *cluster) {
				cl.edit(t, func(g *generator) { g.Finalizers = nil })
				next := cl.get(t)
				if err := cl.Delete(t.Context(), next); err != nil {
					t.Fatal(err)
				}
				next.UID, next.ResourceVersion, next.Finalizers = "uid-2", "", []string{v1beta1.Finalizer}
				if err := cl.Create(t.Context(), next); err != nil {
					t.Fatal(err)
				}
				next.Status.Conditions = older
				if err := cl.Status().Update(t.Context(), next); err != nil {
					t.Fatal(err)
				}
			}, begin: true, passes: 2, want: []string{"Ready=True Succeeded@2: built"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, newGenerator(func(g *generator) { g.Status.Conditions = older }))
			first := true
			cl.steps = func(g *generator, p *loop.Pass) error {
				g.Status.Inventory = []v1beta1.InventoryEntry{{Name: "a", Digest: "sha256:0"}}
				hook := func() { c.other(t, cl) }
				if first && c.begin {
					cl.before = hook
				}
				if err := p.Begin(t.Context(), "building"); err != nil {
					return err
				}
				if first && !c.begin {
					cl.before = hook
				}
				p.Succeed("built")
				return nil
			}
			passes := 0
			for after := time.Duration(0); after < time.Minute; passes++ {
				first = passes == 0
				got, err := cl.reconcile(t)
				if err != nil || passes > 2 {
					t.Fatalf("pass %d: %v", passes, err)
				}
				after = got.RequeueAfter
				if after < time.Minute && c.begin && cl.get(t).Status.Inventory != nil {
					t.Error("what was not begun is in the inventory")
				}
			}
			if passes != c.passes {
				t.Errorf("%d passes, want %d", passes, c.passes)
			}
			g := cl.get(t)
			if diff := cmp.Diff(c.want, texts(g.Status.Conditions)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(g.Status.Inventory) != 1 {
				t.Error("the inventory is lost")
			}
			if diff := cmp.Diff([]string{"podinfo Normal Succeeded: built"}, cl.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// A conflict that does not pass is told in the end.
func TestConflictsAreNotSilentForEver(t *testing.T) {
	cl := newCluster(t, newGenerator(func(g *generator) { g.Status.Conditions = isReady }))
	cl.steps = func(*generator, *loop.Pass) error { return errBusy }
	for pass := range 5 {
		if got, err := cl.reconcile(t); err != nil || got.RequeueAfter == 0 || cl.status != 0 {
			t.Fatalf("pass %d: %v, %v", pass, got, err)
		}
	}
	if _, err := cl.reconcile(t); !apierrors.IsConflict(err) || kstatus(cl.get(t).Status.Conditions) != "InProgress" {
		t.Errorf("got %v", err)
	}
	cl.steps = nil
	if got, err := cl.reconcile(t); err != nil || got.RequeueAfter != time.Hour {
		t.Errorf("got %v, %v", got, err)
	}
}

// W10: a program that ends in the middle of its work leaves a state that the next
// one takes up: never a claim that all is well (O1).
func TestInterruptedWorkIsPickedUp(t *testing.T) {
	cl := newCluster(t, newGenerator(func(g *generator) { g.Status.Conditions = older }))
	ctx, cancel := context.WithCancel(t.Context())
	cl.steps = func(g *generator, p *loop.Pass) error {
		if err := p.Begin(ctx, "building"); err != nil {
			return err
		}
		g.Status.Inventory = []v1beta1.InventoryEntry{{Name: "a", Digest: "sha256:0"}}
		cancel()
		return &fail.Error{Reason: "SourceFetchFailed", Class: fail.Wait, Err: ctx.Err()}
	}
	_, err := cl.loop.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(newGenerator())})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	g := cl.get(t)
	if diff := cmp.Diff(texts(interrupted), texts(g.Status.Conditions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(g.Status.Inventory) != 1 || len(cl.events) != 0 {
		t.Errorf("inventory %v, events %v", g.Status.Inventory, cl.events)
	}
	cl.steps = func(_ *generator, p *loop.Pass) error {
		if p.Settled {
			t.Error("the work seems to be done")
		}
		return nil
	}
	if _, err := cl.reconcile(t); err != nil {
		t.Fatal(err)
	}
}

// Time that ran out is a failure like others, and is still written down.
func TestTimeout(t *testing.T) {
	cl := newCluster(t, newGenerator(func(g *generator) { g.Status.Conditions = isReady }))
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	_, err := cl.loop.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(newGenerator())})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	want := []string{
		"Ready=False ReconciliationFailed@2: context deadline exceeded",
		"Reconciling=True ProgressingWithRetry@2: context deadline exceeded",
	}
	if diff := cmp.Diff(want, texts(cl.get(t).Status.Conditions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPanic(t *testing.T) {
	cl := newCluster(t, newGenerator())
	cl.steps = func(*generator, *loop.Pass) error { panic("a bug\n\ngoroutine 1 at 0xc000123456") }
	if _, err := cl.reconcile(t); err == nil {
		t.Error("no error for the queue")
	}
	want := []string{
		"Ready=False ReconciliationFailed@2: internal error: a bug",
		"Reconciling=True ProgressingWithRetry@2: internal error: a bug",
	}
	if diff := cmp.Diff(want, texts(cl.get(t).Status.Conditions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	cl := newCluster(t, newGenerator())
	cl.steps = func(*generator, *loop.Pass) error { return errors.New("\xff" + strings.Repeat("é", 20_000)) }
	for range 2 {
		_, _ = cl.reconcile(t)
	}
	m := cl.get(t).Status.Conditions[0].Message
	if len(m) > 32768 || len(m) < 32760 || !utf8.ValidString(m) || !strings.HasSuffix(m, "é…") {
		t.Errorf("%d bytes, ends with %q", len(m), m[len(m)-8:])
	}
	if cl.status != 1 || len(cl.events) != 1 {
		t.Errorf("the same message was written %d times, told %d times", cl.status, len(cl.events))
	}
}

func TestFinalizer(t *testing.T) {
	cl := newCluster(t, newGenerator(func(g *generator) { g.Finalizers = []string{"example.com/other"} }))
	cl.steps = func(_ *generator, p *loop.Pass) error {
		if f := cl.get(t).Finalizers; len(f) != 2 || f[1] != v1beta1.Finalizer {
			t.Errorf("the steps run with finalizers %v", f)
		}
		return p.Begin(t.Context(), "building")
	}
	got, err := cl.reconcile(t)
	if err != nil || got.RequeueAfter != time.Hour || cl.meta != 1 || cl.status != 2 {
		t.Errorf("got %v, %v after %d and %d writes", got, err, cl.meta, cl.status)
	}
}

func TestFinalize(t *testing.T) {
	for name, c := range map[string]struct {
		finalizers []string
		suspend    bool
		err        error
		runs       bool
		left       []string // finalizers; nil: the object is gone
		after      time.Duration
		want       []string
	}{
		"done":         {finalizers: []string{v1beta1.Finalizer}, runs: true},
		"suspended":    {finalizers: []string{v1beta1.Finalizer}, suspend: true, runs: true},
		"others wait":  {finalizers: []string{"example.com/x", v1beta1.Finalizer}, runs: true, left: []string{"example.com/x"}},
		"not ours":     {finalizers: []string{"example.com/x"}, left: []string{"example.com/x"}},
		"busy":         {finalizers: []string{v1beta1.Finalizer}, err: errBusy, runs: true, left: []string{v1beta1.Finalizer}, after: 500 * time.Millisecond},
		"hopeless":     {finalizers: []string{v1beta1.Finalizer}, err: errSpec, runs: true, left: []string{v1beta1.Finalizer}, after: time.Hour, want: texts(stalled)},
		"try it again": {finalizers: []string{v1beta1.Finalizer}, err: errBuild, runs: true, left: []string{v1beta1.Finalizer}, want: texts(retried)},
	} {
		t.Run(name, func(t *testing.T) {
			now := metav1.Now()
			cl := newCluster(t, newGenerator(func(g *generator) {
				g.Finalizers, g.DeletionTimestamp = c.finalizers, &now
				if c.suspend {
					g.Annotations = map[string]string{v1beta1.AnnotationReconcile: "Disabled"}
				}
			}))
			cl.steps = func(*generator, *loop.Pass) error { t.Error("the steps ran"); return nil }
			ran := false
			cl.finalize = func(*generator, *loop.Pass) error { ran = true; return c.err }
			got, err := cl.reconcile(t)
			if (err != nil) != (c.err == errBuild) || got.RequeueAfter != c.after || ran != c.runs { //nolint:errorlint // this very one
				t.Errorf("got %v, %v, ran %v", got, err, ran)
			}
			g := &generator{}
			err = cl.Get(t.Context(), client.ObjectKeyFromObject(newGenerator()), g)
			if (c.left == nil) != apierrors.IsNotFound(err) {
				t.Fatalf("the object is still there, or not: %v", err)
			}
			if diff := cmp.Diff(c.left, g.Finalizers); diff != "" {
				t.Errorf("finalizers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, texts(g.Status.Conditions)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// A cache may show an object that has just been let go: it is not finalized
// again. Another one of the same name is another one.
func TestFinalizedOnce(t *testing.T) {
	now := metav1.Now()
	cl := newCluster(t, newGenerator(func(g *generator) { g.DeletionTimestamp = &now }))
	runs := 0
	cl.finalize = func(*generator, *loop.Pass) error { runs++; return nil }
	cl.stale = cl.get(t)
	for range 2 {
		if _, err := cl.reconcile(t); err != nil {
			t.Fatal(err)
		}
	}
	if runs != 1 || cl.meta != 1 {
		t.Errorf("finalized %d times, with %d writes", runs, cl.meta)
	}
	cl.stale = nil
	if _, err := cl.reconcile(t); err != nil { // it is gone
		t.Fatal(err)
	}
	again := newGenerator()
	again.Finalizers = nil
	if err := cl.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if got := cl.get(t).Finalizers; len(got) != 1 {
		t.Errorf("finalizers %q", got)
	}
}

func TestObserve(t *testing.T) {
	cl := newCluster(t, newGenerator())
	var got []string
	cl.loop.Observe = func(name string, _ time.Duration, err error) {
		if errors.Is(err, step.Done) {
			name += " done"
		}
		got = append(got, name)
	}
	cl.steps = func(*generator, *loop.Pass) error { return step.Done }
	if _, err := cl.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"build done"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The loop speaks the words of the API, which it does not import.
func TestWords(t *testing.T) {
	cl := newCluster(t, newGenerator())
	cl.steps = func(_ *generator, p *loop.Pass) error {
		if err := p.Begin(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		is := cl.get(t).Status.Conditions
		if is[0].Type != v1beta1.ConditionReady || is[1].Type != v1beta1.ConditionReconciling || is[0].Reason != v1beta1.ReasonProgressing {
			t.Errorf("%v", texts(is))
		}
		return errors.New("oops")
	}
	_, _ = cl.reconcile(t)
	is := cl.get(t).Status.Conditions
	if is[0].Reason != v1beta1.ReasonReconciliationFailed || is[1].Reason != v1beta1.ReasonProgressingWithRetry {
		t.Errorf("%v", texts(is))
	}
}
