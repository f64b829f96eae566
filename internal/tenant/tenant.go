// Package tenant says which tenant a namespace belongs to, and which tenants a
// selector selects. It asks no cluster: namespaces and tenants come in as
// values.
package tenant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// nameLabel is on every tenant in the eyes of selectors, as on namespaces.
const nameLabel = "kubernetes.io/metadata.name"

// Namespace is a namespace of a tenant.
type Namespace struct {
	Name   string
	Labels map[string]string
	// Terminating says that the namespace is going away.
	Terminating bool
	// Object returns the whole object for templates; nil means that there is
	// nothing to see. The result is not changed.
	Object func() map[string]any
}

// Tenant is a tenant with its namespaces.
type Tenant struct {
	Name   string
	Labels map[string]string
	// Terminating says that the tenant is going away.
	Terminating bool
	// Namespaces are sorted by name.
	Namespaces []Namespace
	// Object is as that of [Namespace].
	Object func() map[string]any
}

// Has reports whether the namespace belongs to the tenant.
func (t *Tenant) Has(namespace string) bool {
	_, ok := slices.BinarySearchFunc(t.Namespaces, namespace, func(n Namespace, name string) int { return cmp.Compare(n.Name, name) })
	return ok
}

// Of returns the name of the tenant that a namespace belongs to: that of its
// label, or else of its owner reference; empty when there is neither. One that
// names several tenants, and one of the system, belongs to none, and the error
// says so.
func Of(namespace metav1.Object) (string, error) {
	var names []string
	if name := namespace.GetLabels()[v1beta2.LabelTenant]; name != "" {
		names = append(names, name)
	}
	for _, ref := range namespace.GetOwnerReferences() {
		if owns(ref) {
			names = append(names, ref.Name)
		}
	}
	slices.Sort(names)
	switch names = slices.Compact(names); {
	case len(names) == 0:
		return "", nil
	case len(names) > 1:
		return "", fmt.Errorf("namespace %q: its label %s and its owner references name the tenants %q; it can be in one only",
			namespace.GetName(), v1beta2.LabelTenant, names)
	case IsSystem(namespace.GetName()):
		return "", fmt.Errorf("namespace %q is one of the system and cannot be in tenant %q", namespace.GetName(), names[0])
	}
	return names[0], nil
}

func owns(ref metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return ref.Kind == v1beta2.KindTenant && group == v1beta2.GroupVersion.Group
}

// SystemPrefix begins the names of namespaces of Kubernetes itself.
const SystemPrefix = "kube-"

// System returns the other namespaces that no tenant may have.
func System() []string { return []string{metav1.NamespaceDefault, "flux-system"} }

// IsSystem reports whether a namespace is one of the system, which no tenant may
// have.
func IsSystem(namespace string) bool {
	return slices.Contains(System(), namespace) || strings.HasPrefix(namespace, SystemPrefix)
}

// Group puts namespaces into the tenants that they belong to. Namespaces that
// belong to none are left out. The tenants are those given, sorted.
func Group(tenants []Tenant, members map[string][]Namespace) []Tenant {
	out := slices.Clone(tenants)
	for i := range out {
		out[i].Namespaces = slices.SortedFunc(slices.Values(members[out[i].Name]),
			func(a, b Namespace) int { return cmp.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(out, func(a, b Tenant) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Select returns those of the tenants that the selector selects and that are
// not going away. Every tenant has the label kubernetes.io/metadata.name, also
// where nobody has set it. Values of selectors are not checked by the API
// server; the error names what is wrong.
func Select(tenants []Tenant, selector *metav1.LabelSelector) ([]Tenant, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("tenantSelector: %w", err)
	}
	var out []Tenant
	for _, t := range tenants {
		if !t.Terminating && s.Matches(named{t}) {
			out = append(out, t)
		}
	}
	return out, nil
}

// named is the labels of a tenant with that of its name.
type named struct{ Tenant }

var _ labels.Labels = named{}

func (n named) Has(key string) bool { _, ok := n.Lookup(key); return ok }

func (n named) Get(key string) string { v, _ := n.Lookup(key); return v }

func (n named) Lookup(key string) (string, bool) {
	if key == nameLabel {
		return n.Name, true
	}
	v, ok := n.Labels[key]
	return v, ok
}
