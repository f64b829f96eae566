// Package concern finds the replications that a change of a tenant, a namespace
// or another replication concerns, so that they are looked at again. It asks
// caches and remembers nothing.
package concern

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/membership"
	"github.com/weir-dev/weir/internal/tenant"
)

// Finder finds replications. What it cannot read is logged, and the resync
// period finds what it misses.
type Finder struct {
	// Replications and Tenants read from caches, tenants unstructured, and
	// namespaces beside them.
	Replications, Tenants client.Reader
}

// Global returns the GlobalTenantResources that select the tenant, or did.
func (f *Finder) Global(ctx context.Context, name string) []reconcile.Request {
	var list v1beta2.GlobalTenantResourceList
	if err := f.Replications.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the replications of a tenant", "tenant", name)
		return nil
	}
	t := membership.NewTenant()
	if err := f.Tenants.Get(ctx, client.ObjectKey{Name: name}, t); client.IgnoreNotFound(err) != nil {
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

// Local returns the TenantResources in the namespaces of the tenant.
func (f *Finder) Local(ctx context.Context, name string) []reconcile.Request {
	var list v1beta2.TenantResourceList
	var namespaces corev1.NamespaceList
	err := f.Replications.List(ctx, &list, client.UnsafeDisableDeepCopy)
	if err == nil {
		err = f.Tenants.List(ctx, &namespaces, client.UnsafeDisableDeepCopy)
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

// In returns the TenantResources in a namespace, whatever tenant it is in.
func (f *Finder) In(ctx context.Context, namespace string) []reconcile.Request {
	var list v1beta2.TenantResourceList
	if err := f.Replications.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the replications of a namespace", "namespace", namespace)
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return out
}

// GlobalDependents returns those who depend on a GlobalTenantResource.
func (f *Finder) GlobalDependents(ctx context.Context, o client.Object) []reconcile.Request {
	var list v1beta2.GlobalTenantResourceList
	if err := f.Replications.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
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

// LocalDependents returns those who depend on a TenantResource.
func (f *Finder) LocalDependents(ctx context.Context, o client.Object) []reconcile.Request {
	var list v1beta2.TenantResourceList
	if err := f.Replications.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
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
