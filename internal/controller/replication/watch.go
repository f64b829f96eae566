package replication

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/concern"
	"github.com/weir-dev/weir/internal/controller/membership"
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
	return nil
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
