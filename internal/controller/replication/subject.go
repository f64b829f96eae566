package replication

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/record"
	"github.com/weir-dev/weir/internal/controller/sight"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/protect/mark"
)

// subject is a replication of either kind, as the engine sees it. Its pointers
// are into the object.
type subject struct {
	object loop.Object
	spec   *v1beta2.ReplicationSpec
	status *v1beta2.ReplicationStatus

	// scope, tenants and selected are those of a GlobalTenantResource.
	scope    v1beta2.Scope
	tenants  *metav1.LabelSelector
	selected *[]string

	account types.NamespacedName
	// kind returns an empty object of the same kind.
	kind func() subject
}

func (e *Engine) subjectOfGlobal(g *v1beta2.GlobalTenantResource) subject {
	s := subject{
		object: g, spec: &g.Spec.ReplicationSpec, status: &g.Status.ReplicationStatus,
		scope: g.Spec.Scope, tenants: &g.Spec.TenantSelector, selected: &g.Status.SelectedTenants,
		account: e.Own,
		kind:    func() subject { return e.subjectOfGlobal(&v1beta2.GlobalTenantResource{}) },
	}
	if d := e.Defaults.Global; d.Name != "" && d.Namespace != "" {
		s.account = d
	}
	if a := g.Spec.ServiceAccount; a != nil {
		s.account = types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	}
	return s
}

func (e *Engine) subjectOfTenant(t *v1beta2.TenantResource) subject {
	s := subject{
		object: t, spec: &t.Spec.ReplicationSpec, status: &t.Status.ReplicationStatus,
		scope:   v1beta2.ScopeNamespace,
		account: e.Own,
		kind:    func() subject { return e.subjectOfTenant(&v1beta2.TenantResource{}) },
	}
	if d := e.Defaults.Tenant; d.Name != "" {
		s.account = types.NamespacedName{Namespace: cmp.Or(d.Namespace, t.Namespace), Name: d.Name}
	}
	if a := t.Spec.ServiceAccount; a != nil && a.Name != "" {
		s.account = types.NamespacedName{Namespace: t.Namespace, Name: a.Name}
	}
	return s
}

// isGlobal reports whether the replication is a GlobalTenantResource.
func (s *subject) isGlobal() bool { return s.tenants != nil }

// id names the replication in the marks of its targets.
func (s *subject) id() mark.Replication {
	return mark.Replication{Namespace: s.object.GetNamespace(), Name: s.object.GetName()}
}

// asOwner returns the replication as one who is told of changes.
func (s *subject) asOwner() sight.Owner {
	return sight.Owner{Global: s.isGlobal(), Namespace: s.object.GetNamespace(), Name: s.object.GetName()}
}

// owner returns what the record of the replication is called.
func (s *subject) owner() record.Owner {
	if s.isGlobal() {
		return record.OwnerOf(v1beta2.KindGlobalTenantResource, s.object)
	}
	return record.OwnerOf(v1beta2.KindTenantResource, s.object)
}

// interval returns the time until the next pass. Text that is no duration is
// reported by the steps.
func interval(spec *v1beta2.ReplicationSpec) time.Duration {
	d, err := spec.Period()
	if err != nil {
		return v1beta2.DefaultResyncPeriod
	}
	return d
}
