// Package object is a manifest as the reconciler sees it: its identity, its
// canonical digest and its normal form. It is pure and never converts a
// manifest to Go structs, so no field is lost.
package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key is the identity of an object. The API version is not part of it.
type Key struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// KeyOf returns the key of u.
func KeyOf(u *unstructured.Unstructured) Key {
	gvk := u.GroupVersionKind()
	return Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// GroupKind returns the kind with its group.
func (k Key) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// String returns the key as people write it, such as Deployment.apps shop/web.
func (k Key) String() string {
	s := k.GroupKind().String() + " "
	if k.Namespace != "" {
		s += k.Namespace + "/"
	}
	return s + k.Name
}

// Compare orders keys by group, kind, namespace and name.
func (k Key) Compare(o Key) int {
	return cmp.Or(strings.Compare(k.Group, o.Group), strings.Compare(k.Kind, o.Kind),
		strings.Compare(k.Namespace, o.Namespace), strings.Compare(k.Name, o.Name))
}

// Stub returns an object that has only the identity of k in the given version.
func (k Key) Stub(version string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(k.GroupKind().WithVersion(version))
	u.SetNamespace(k.Namespace)
	u.SetName(k.Name)
	return u
}

// Kinds that the reconciler treats by their meaning.
var (
	Namespace  = schema.GroupKind{Kind: "Namespace"}
	CRD        = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	APIService = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
)

// IsNamespace reports whether k names a Namespace.
func (k Key) IsNamespace() bool { return k.GroupKind() == Namespace }

// DefinesTypes reports whether k names an object that defines kinds, a
// CustomResourceDefinition or an APIService.
func (k Key) DefinesTypes() bool { return k.GroupKind() == CRD || k.GroupKind() == APIService }
