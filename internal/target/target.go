// Package target says where the blocks of a replication are rendered for. It is
// pure; what is rendered there is decided elsewhere.
package target

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/tenant"
)

// Destination is what a block is rendered for once. Its pointers are shared and
// not changed.
type Destination struct {
	// Tenant is nil in the scope None.
	Tenant *tenant.Tenant
	// Namespace is nil in the scopes Tenant and None.
	Namespace *tenant.Namespace
}

// TenantName returns the name that items carry.
func (d Destination) TenantName() string {
	if d.Tenant == nil {
		return v1beta2.TenantNone
	}
	return d.Tenant.Name
}

// NamespaceName returns the name of the namespace, empty when there is none.
func (d Destination) NamespaceName() string {
	if d.Namespace == nil {
		return ""
	}
	return d.Namespace.Name
}

// String returns the destination as messages name it.
func (d Destination) String() string {
	switch {
	case d.Namespace != nil:
		return "namespace " + d.Namespace.Name
	case d.Tenant != nil:
		return "tenant " + d.Tenant.Name
	}
	return "scope None"
}

// Of returns the destinations of a block in the order of the tenants and their
// namespaces. Namespaces count only in the scope Namespace, which is also the
// empty one; those that are going away are no destinations.
func Of(scope v1beta2.Scope, tenants []tenant.Tenant, namespaces labels.Selector) []Destination {
	if scope == v1beta2.ScopeNone {
		return []Destination{{}}
	}
	var out []Destination
	for i := range tenants {
		t := &tenants[i]
		switch {
		case t.Terminating:
		case scope == v1beta2.ScopeTenant:
			out = append(out, Destination{Tenant: t})
		default:
			for j := range t.Namespaces {
				if n := &t.Namespaces[j]; !n.Terminating && namespaces.Matches(labels.Set(n.Labels)) {
					out = append(out, Destination{Tenant: t, Namespace: n})
				}
			}
		}
	}
	return out
}
