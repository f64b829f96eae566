// Package external is the ExternalArtifact that stands in the cluster for a
// stored artifact: what it should say, and whether it does. It is pure.
package external

import (
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/metadata"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Kind is the kind of the objects.
var Kind = sourcev1.GroupVersion.WithKind(sourcev1.ExternalArtifactKind)

// KeyOf returns the key of the object of that name.
func KeyOf(namespace, name string) object.Key {
	return object.Key{Group: Kind.Group, Kind: Kind.Kind, Namespace: namespace, Name: name}
}

// Owner is the generator that an object belongs to.
type Owner struct{ Namespace, Name string }

// OwnerOf returns the generator that an object names as its source, and false
// when it names none.
func OwnerOf(o *sourcev1.ExternalArtifact) (Owner, bool) {
	ref := o.Spec.SourceRef
	if ref == nil || ref.Kind != v1beta1.KindArtifactGenerator {
		return Owner{}, false
	}
	own := Owner{Namespace: ref.Namespace, Name: ref.Name}
	if own.Namespace == "" {
		own.Namespace = o.Namespace
	}
	return own, true
}

// Manifest returns the object without its status and without what marks its
// owner.
func Manifest(owner Owner, k object.Key, m metadata.Set) *unstructured.Unstructured {
	u := k.Stub(Kind.Version)
	if len(m.Labels) > 0 {
		u.SetLabels(m.Labels)
	}
	if len(m.Annotations) > 0 {
		u.SetAnnotations(m.Annotations)
	}
	u.Object["spec"] = map[string]any{"sourceRef": map[string]any{
		"apiVersion": v1beta1.GroupVersion.String(),
		"kind":       v1beta1.KindArtifactGenerator,
		"namespace":  owner.Namespace,
		"name":       owner.Name,
	}}
	return u
}
