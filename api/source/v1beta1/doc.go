// Package v1beta1 is the API group source.extensions.fluxcd.io: the kind
// ArtifactGenerator, the configuration file NamespaceMetadata and the names
// (reasons, annotations, labels) that programs match on. It holds no behaviour
// beyond reading its own fields; what a field means to the engine is decided in
// the packages that use it.
//
// Objects of source-watcher decode into these types and back without loss.
//
// +kubebuilder:object:generate=true
// +groupName=source.extensions.fluxcd.io
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "source.extensions.fluxcd.io", Version: "v1beta1"}

// AddToScheme registers the kinds that the API server stores:
// [ArtifactGenerator] and its list. [NamespaceMetadata] is a file and not among
// them.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &ArtifactGenerator{}, &ArtifactGeneratorList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
