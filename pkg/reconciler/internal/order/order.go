// Package order says which kinds go before which. It is pure and knows kinds
// and not objects.
package order

import "k8s.io/apimachinery/pkg/runtime/schema"

const (
	admission = "admissionregistration.k8s.io"
	rbac      = "rbac.authorization.k8s.io"
)

// apply says which kinds others lean on. Everything else is 0.
var apply = map[schema.GroupKind]int{
	{Kind: "Namespace"}: -4,
	{Group: admission, Kind: "ValidatingWebhookConfiguration"}:        -3,
	{Group: admission, Kind: "MutatingWebhookConfiguration"}:          -3,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: -2,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                -2,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                      -2,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:               -2,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                   -2,
	{Group: rbac, Kind: "ClusterRole"}:                                -2,
	{Group: rbac, Kind: "Role"}:                                       -2,
	{Kind: "ConfigMap"}:                                               -1,
	{Kind: "Secret"}:                                                  -1,
	{Kind: "ServiceAccount"}:                                          -1,
	{Group: rbac, Kind: "ClusterRoleBinding"}:                         -1,
	{Group: rbac, Kind: "RoleBinding"}:                                -1,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             1,
}

// remove says which kinds others stop needing first. Everything else is 0.
var remove = map[schema.GroupKind]int{
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: -1,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             -1,
	{Group: admission, Kind: "ValidatingWebhookConfiguration"}:        1,
	{Group: admission, Kind: "MutatingWebhookConfiguration"}:          1,
	{Kind: "Service"}:   2,
	{Kind: "ConfigMap"}: 2,
	{Kind: "Secret"}:    2,
	{Kind: "Namespace"}: 3,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:  4,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:        4,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}: 4,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:     4,
}

// Apply returns the rank of a kind within an apply wave, lower first.
func Apply(gk schema.GroupKind) int { return apply[gk] }

// Remove returns the rank of a kind within a delete wave, lower first.
func Remove(gk schema.GroupKind) int { return remove[gk] }

// Stage is the part of a wave that an object belongs to. A stage starts when
// the stages before it are ready.
type Stage int

const (
	// Plain is every object that needs no kind of the set.
	Plain Stage = iota
	// Late is APIServices, whose servers are Plain.
	Late
	// Managed is objects of kinds that the set defines.
	Managed
)
