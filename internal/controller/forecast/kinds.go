package forecast

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/wanted"
	"github.com/weir-dev/weir/internal/protect/mark"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
)

// replication is one of either kind, with what the cluster knows of it.
type replication struct {
	wanted.Replication

	kind     string
	owner    string // its UID, or a name for one that is not in the cluster
	isNew    bool
	leaves   bool
	recorded inventory.Inventory
	before   *v1beta2.AccountStatus // as whom the last pass acted
	// empty returns an empty object of the kind, and its status.
	empty func() (client.Object, *v1beta2.ReplicationStatus)
}

// account returns as whom the controller would act, as far as that can be known:
// what it does for those who name no account, it has told in their status.
func (r *replication) account() types.NamespacedName {
	switch o := r.Object.(type) {
	case *v1beta2.GlobalTenantResource:
		if a := o.Spec.ServiceAccount; a != nil {
			return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
		}
	case *v1beta2.TenantResource:
		if a := o.Spec.ServiceAccount; a != nil && a.Name != "" {
			return types.NamespacedName{Namespace: o.Namespace, Name: a.Name}
		}
	}
	if r.before != nil {
		return types.NamespacedName{Namespace: r.before.Namespace, Name: r.before.Name}
	}
	return types.NamespacedName{}
}

func (r *replication) id() mark.Replication {
	return mark.Replication{Namespace: r.Object.GetNamespace(), Name: r.Object.GetName()}
}

func of(o client.Object) (*replication, error) {
	switch r := o.(type) {
	case *v1beta2.GlobalTenantResource:
		return &replication{
			Replication: wanted.Replication{Object: r, Spec: &r.Spec.ReplicationSpec, Scope: r.Spec.Scope, Tenants: &r.Spec.TenantSelector},
			kind:        v1beta2.KindGlobalTenantResource, owner: "new",
			empty: func() (client.Object, *v1beta2.ReplicationStatus) {
				g := &v1beta2.GlobalTenantResource{}
				return g, &g.Status.ReplicationStatus
			},
		}, nil
	case *v1beta2.TenantResource:
		return &replication{
			Replication: wanted.Replication{Object: r, Spec: &r.Spec.ReplicationSpec, Scope: v1beta2.ScopeNamespace},
			kind:        v1beta2.KindTenantResource, owner: "new",
			empty: func() (client.Object, *v1beta2.ReplicationStatus) {
				t := &v1beta2.TenantResource{}
				return t, &t.Status.ReplicationStatus
			},
		}, nil
	}
	return nil, fmt.Errorf("a %T is no replication", o)
}

// inherit gives an object the metadata that it would have in the cluster, for
// templates.
func inherit(o, stored client.Object) {
	o.SetUID(stored.GetUID())
	o.SetCreationTimestamp(stored.GetCreationTimestamp())
	o.SetResourceVersion(stored.GetResourceVersion())
	o.SetGeneration(stored.GetGeneration())
	o.SetFinalizers(stored.GetFinalizers())
	o.SetLabels(over(stored.GetLabels(), o.GetLabels()))
	o.SetAnnotations(over(stored.GetAnnotations(), o.GetAnnotations()))
}

// over returns one map laid over another.
func over(under, top map[string]string) map[string]string {
	out := maps.Clone(under)
	if out == nil {
		return top
	}
	maps.Copy(out, top)
	return out
}
