package replication

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	"github.com/weir-dev/weir/internal/controller/membership"
	"github.com/weir-dev/weir/internal/controller/wake"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/tenant"
)

// Watch makes the manager call the engine whenever something happened that may
// concern a replication.
func (e *Engine) Watch(mgr ctrl.Manager, o controller.Options) error {
	for _, k := range []struct {
		name     string
		global   bool
		empty    loop.Object
		do       reconcile.Reconciler
		concerns func(ctx context.Context, tenant string) []reconcile.Request
		depend   handler.MapFunc
	}{
		{"globaltenantresource", true, &v1beta2.GlobalTenantResource{}, e.Global(), e.globalOf, e.globalDependents},
		{"tenantresource", false, &v1beta2.TenantResource{}, e.Tenant(), e.tenantOf, e.tenantDependents},
	} {
		err := ctrl.NewControllerManagedBy(mgr).Named(k.name).
			For(k.empty, builder.WithPredicates(wake.Asked())).
			Watches(k.empty, handler.EnqueueRequestsFromMapFunc(k.depend), builder.WithPredicates(wake.Readiness())).
			Watches(membership.NewTenant(), handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
				return k.concerns(ctx, o.GetName())
			}), builder.WithPredicates(wake.Shown())).
			Watches(&corev1.Namespace{}, wake.Moved(k.concerns)).
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

// globalOf returns the GlobalTenantResources that select the tenant, or did.
func (e *Engine) globalOf(ctx context.Context, name string) []reconcile.Request {
	var list v1beta2.GlobalTenantResourceList
	if err := e.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the replications of a tenant", "tenant", name)
		return nil
	}
	t := membership.NewTenant()
	if err := e.Tenants.Get(ctx, client.ObjectKey{Name: name}, t); client.IgnoreNotFound(err) != nil {
		ctrl.LoggerFrom(ctx).Error(err, "reading a tenant", "tenant", name)
		return nil
	}
	is := []tenant.Tenant{{Name: name, Labels: t.GetLabels()}}
	var out []reconcile.Request
	for i := range list.Items {
		g := &list.Items[i]
		now, err := tenant.Select(is, &g.Spec.TenantSelector)
		if err != nil || len(now) > 0 || slices.Contains(g.Status.SelectedTenants, name) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(g)})
		}
	}
	return out
}

// tenantOf returns the TenantResources in the namespaces of the tenant.
func (e *Engine) tenantOf(ctx context.Context, name string) []reconcile.Request {
	var list v1beta2.TenantResourceList
	var namespaces corev1.NamespaceList
	err := e.Client.List(ctx, &list, client.UnsafeDisableDeepCopy)
	if err == nil {
		err = e.Tenants.List(ctx, &namespaces, client.UnsafeDisableDeepCopy)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the replications of a tenant", "tenant", name)
		return nil
	}
	in := labels.Set{}
	for i := range namespaces.Items {
		if of, err := tenant.Of(&namespaces.Items[i]); err == nil && of == name {
			in[namespaces.Items[i].Name] = name
		}
	}
	var out []reconcile.Request
	for i := range list.Items {
		if t := &list.Items[i]; in.Has(t.Namespace) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(t)})
		}
	}
	return out
}

// globalDependents returns those who depend on a GlobalTenantResource.
func (e *Engine) globalDependents(ctx context.Context, o client.Object) []reconcile.Request {
	var list v1beta2.GlobalTenantResourceList
	if err := e.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the dependents of a replication")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if g := &list.Items[i]; depends(&g.Spec.ReplicationSpec, o.GetName()) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(g)})
		}
	}
	return out
}

// tenantDependents returns those who depend on a TenantResource.
func (e *Engine) tenantDependents(ctx context.Context, o client.Object) []reconcile.Request {
	var list v1beta2.TenantResourceList
	if err := e.Client.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the dependents of a replication")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if t := &list.Items[i]; depends(&t.Spec.ReplicationSpec, o.GetName()) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(t)})
		}
	}
	return out
}

func depends(spec *v1beta2.ReplicationSpec, name string) bool {
	return slices.ContainsFunc(spec.DependsOn, func(d v1beta2.Dependency) bool { return d.Name == name })
}
