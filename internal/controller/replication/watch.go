package replication

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/concern"
	"github.com/weir-dev/weir/internal/controller/membership"
	"github.com/weir-dev/weir/internal/controller/record"
	"github.com/weir-dev/weir/internal/controller/wake"
	"github.com/weir-dev/weir/internal/loop"
)

// Watch makes the manager call the engine whenever something happened that may
// concern a replication.
func (e *Engine) Watch(mgr ctrl.Manager, o controller.Options) error {
	who := &concern.Finder{Replications: e.Client, Tenants: e.Tenants}
	for _, k := range []struct {
		name     string
		global   bool
		empty    loop.Object
		do       reconcile.Reconciler
		concerns func(ctx context.Context, tenant string) []reconcile.Request
		lives    func(ctx context.Context, namespace string) []reconcile.Request
		depend   handler.MapFunc
	}{
		{"globaltenantresource", true, &v1beta2.GlobalTenantResource{}, e.Global(), who.Global, nil, who.GlobalDependents},
		{"tenantresource", false, &v1beta2.TenantResource{}, e.Tenant(), who.Local, who.In, who.LocalDependents},
	} {
		err := ctrl.NewControllerManagedBy(mgr).Named(k.name).
			For(k.empty, builder.WithPredicates(wake.Asked())).
			Watches(k.empty, handler.EnqueueRequestsFromMapFunc(k.depend), builder.WithPredicates(wake.Readiness())).
			Watches(membership.NewTenant(), handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
				return k.concerns(ctx, o.GetName())
			}), builder.WithPredicates(wake.Shown())).
			Watches(&corev1.Namespace{}, wake.Moved(k.concerns, k.lives)).
			WatchesRawSource(source.Channel(e.changed[k.global], soon())).
			WithOptions(o).
			Complete(k.do)
		if err != nil {
			return err
		}
	}
	return mgr.Add(manager.RunnableFunc(e.sweep))
}

// sweep removes the records of replications that went without doing so. What it
// cannot remove the next process tries again.
func (e *Engine) sweep(ctx context.Context) error {
	if err := e.records.Sweep(ctx, e.gone); err != nil && ctx.Err() == nil {
		ctrl.LoggerFrom(ctx).Error(err, "removing the records of replications that are gone")
	}
	return nil
}

// gone reports whether a replication is not there any more.
func (e *Engine) gone(ctx context.Context, o record.Owner) (bool, error) {
	about := &metav1.PartialObjectMetadata{}
	about.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(o.Kind))
	err := e.Direct.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, about)
	return apierrors.IsNotFound(err) || err == nil && about.UID != o.UID, client.IgnoreNotFound(err)
}

// pause is how long changes of sources and targets are gathered, our own writes
// among them.
const pause = 500 * time.Millisecond

// soon queues what is told, after a moment in which more may be told.
func soon() handler.EventHandler {
	return handler.Funcs{GenericFunc: func(_ context.Context, e event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}, pause)
	}}
}
