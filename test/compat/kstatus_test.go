package compat

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/step"
)

// What kstatus, which Flux and others wait by, makes of a generator in each of
// its states.
func TestKstatus(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		steps func(ctx context.Context, p *loop.Pass) error
		edit  func(*v1beta1.ArtifactGenerator)
		want  status.Status
	}{
		"succeeded":     {want: status.CurrentStatus},
		"will be tried": {steps: func(context.Context, *loop.Pass) error { return broken }, want: status.InProgressStatus},
		"waits for a source": {steps: func(context.Context, *loop.Pass) error {
			return &fail.Error{Reason: v1beta1.ReasonSourceFetchFailed, Class: fail.Wait, After: time.Minute, Err: broken}
		}, want: status.InProgressStatus},
		"suspended from the first": {edit: func(g *v1beta1.ArtifactGenerator) {
			g.Annotations = map[string]string{v1beta1.AnnotationReconcile: v1beta1.ValueDisabled}
		}, want: status.InProgressStatus},
		"stalled": {steps: func(context.Context, *loop.Pass) error {
			return fail.Stalled(v1beta1.ReasonValidationFailed, "wrong")
		}, want: status.FailedStatus},
		"stalled for a while": {steps: func(context.Context, *loop.Pass) error {
			return &fail.Error{Reason: v1beta1.ReasonAccessDenied, Class: fail.Stall, After: time.Minute, Err: broken}
		}, want: status.FailedStatus},
		"panics at work": {steps: func(ctx context.Context, p *loop.Pass) error {
			if err := p.Begin(ctx, "reconciliation in progress"); err != nil {
				return err
			}
			panic("a bug")
		}, edit: func(g *v1beta1.ArtifactGenerator) { g.Generation = 2 }, want: status.InProgressStatus},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1beta1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			g := &v1beta1.ArtifactGenerator{}
			g.Namespace, g.Name, g.UID, g.Generation = "apps", "x", "uid", 1
			if c.edit != nil {
				c.edit(g)
			}
			cl := fake.NewClientBuilder().WithScheme(scheme).WithObjects(g).WithStatusSubresource(g).Build()
			key := client.ObjectKeyFromObject(g)
			_, _ = newLoop(cl, c.steps).Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			if got := statusOf(t, cl, key); got != c.want {
				t.Errorf("status %s, want %s", got, c.want)
			}
		})
	}
}

// A generator that was ready is not Current while a new spec or source is being
// worked on.
func TestKstatusAtWork(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	g := &v1beta1.ArtifactGenerator{}
	g.Namespace, g.Name, g.UID, g.Generation = "apps", "x", "uid", 1
	cl := fake.NewClientBuilder().WithScheme(scheme).WithObjects(g).WithStatusSubresource(g).Build()
	key := client.ObjectKeyFromObject(g)
	var during status.Status
	l := newLoop(cl, func(ctx context.Context, p *loop.Pass) error {
		err := p.Begin(ctx, "reconciliation in progress")
		during = statusOf(t, cl, key)
		return err
	})
	for range 2 {
		if _, err := l.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		if after := statusOf(t, cl, key); during != status.InProgressStatus || after != status.CurrentStatus {
			t.Errorf("status %s at work and %s after", during, after)
		}
	}
}

func newLoop(c client.Client, do func(context.Context, *loop.Pass) error) *loop.Loop[*v1beta1.ArtifactGenerator] {
	return &loop.Loop[*v1beta1.ArtifactGenerator]{Client: c, Kind: loop.Kind[*v1beta1.ArtifactGenerator]{
		New:       func() *v1beta1.ArtifactGenerator { return &v1beta1.ArtifactGenerator{} },
		Finalizer: v1beta1.Finalizer,
		Handled:   func(g *v1beta1.ArtifactGenerator) *string { return &g.Status.LastHandledReconcileAt },
		Interval:  (*v1beta1.ArtifactGenerator).Interval,
		Suspended: (*v1beta1.ArtifactGenerator).IsDisabled,
		Steps: func(_ *v1beta1.ArtifactGenerator, p *loop.Pass) []step.Step {
			return []step.Step{step.Of("work", func(ctx context.Context) error {
				if do == nil {
					return nil
				}
				return do(ctx, p)
			})}
		},
	}}
}

func statusOf(t *testing.T, c client.Client, key client.ObjectKey) status.Status {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(v1beta1.KindArtifactGenerator))
	if err := c.Get(t.Context(), key, u); err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(u)
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}
