// Package tenant keeps the status of tenants where Capsule does not: which
// namespaces they have, and whether they are active. It creates, binds and
// deletes nothing.
package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/membership"
	"github.com/weir-dev/weir/internal/tenant"
)

// Mode says whether statuses are kept.
type Mode string

const (
	// Auto keeps them unless Capsule is installed.
	Auto Mode = "auto"
	// On keeps them.
	On Mode = "on"
	// Off only reads.
	Off Mode = "off"
)

// Set sets the mode by its name. It implements flag.Value.
func (m *Mode) Set(s string) error {
	if !slices.Contains([]Mode{Auto, On, Off}, Mode(s)) {
		return fmt.Errorf("want %s, %s or %s", Auto, On, Off)
	}
	*m = Mode(s)
	return nil
}

// String returns the name of the mode; the empty one is [Auto].
func (m *Mode) String() string {
	if m == nil || *m == "" {
		return string(Auto)
	}
	return string(*m)
}

// capsule is a kind that is there when Capsule is.
var capsule = schema.GroupKind{Group: v1beta2.GroupVersion.Group, Kind: "CapsuleConfiguration"}

// Reconciler keeps the status of tenants. All fields but Mode must be set.
type Reconciler struct {
	// Cache reads tenants, unstructured, and namespaces.
	Cache client.Reader
	// Direct writes the status.
	Direct client.Client
	// Mode says whether anything is written; empty means [Auto].
	Mode Mode
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// Watch makes the manager call r whenever a tenant or a namespace of one
// changed. In the mode [Off] it watches nothing.
func (r *Reconciler) Watch(mgr ctrl.Manager, o controller.Options) error {
	if r.Mode == Off {
		return nil
	}
	return ctrl.NewControllerManagedBy(mgr).Named("tenant").
		For(membership.NewTenant()).
		// Of an update both states are mapped, so a namespace that leaves counts.
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(of)).
		WithOptions(o).
		Complete(r)
}

func of(_ context.Context, o client.Object) []reconcile.Request {
	name, err := tenant.Of(o)
	if err != nil || name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
}

// Reconcile writes the status of a tenant if it is not what it should be.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if keep, err := r.Mode.Keeps(r.Direct.RESTMapper()); !keep || err != nil {
		return reconcile.Result{}, err
	}
	u := membership.NewTenant()
	if err := r.Cache.Get(ctx, req.NamespacedName, u); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var t v1beta2.Tenant
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &t); err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("reading tenant %s: %w", u.GetName(), err))
	}
	names, err := r.namespaces(ctx, t.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	want := v1beta2.TenantStatus{State: stateOf(&t), Namespaces: names, Size: int64(len(names))}
	if want.State == t.Status.State && want.Size == t.Status.Size && slices.Equal(want.Namespaces, t.Status.Namespaces) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.write(ctx, u, want)
}

// Keeps reports whether it is for Weir to look after tenants, in a cluster with
// the kinds of the mapper.
func (m Mode) Keeps(kinds meta.RESTMapper) (bool, error) {
	switch m {
	case On:
		return true, nil
	case Off:
		return false, nil
	default:
	}
	_, err := kinds.RESTMapping(capsule)
	if meta.IsNoMatchError(err) {
		return true, nil
	}
	return false, err
}

func stateOf(t *v1beta2.Tenant) v1beta2.TenantState {
	switch {
	case t.DeletionTimestamp != nil:
		return v1beta2.TenantTerminating
	case t.Spec.Cordoned:
		return v1beta2.TenantCordoned
	}
	return v1beta2.TenantActive
}

// namespaces returns the names of the tenant's namespaces, sorted.
func (r *Reconciler) namespaces(ctx context.Context, name string) ([]string, error) {
	var list corev1.NamespaceList
	if err := r.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	var out []string
	for i := range list.Items {
		if is, err := tenant.Of(&list.Items[i]); err == nil && is == name {
			out = append(out, list.Items[i].Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// write replaces our part of the status of the tenant as it was read.
func (r *Reconciler) write(ctx context.Context, u *unstructured.Unstructured, s v1beta2.TenantStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": u.GetResourceVersion()},
		"status":   map[string]any{"state": s.State, "namespaces": s.Namespaces, "size": s.Size},
	})
	if err != nil {
		return err
	}
	to := membership.NewTenant()
	to.SetName(u.GetName())
	err = r.Direct.Status().Patch(ctx, to, client.RawPatch(types.MergePatchType, patch))
	return client.IgnoreNotFound(err)
}
