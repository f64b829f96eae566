package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Metadata is a set of labels and annotations.
type Metadata struct {
	// Annotations to set, by key. Default: none.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Labels to set, by key. The labels app.kubernetes.io/managed-by and
	// source.extensions.fluxcd.io/generator are reserved and cannot be set.
	// Default: none.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// KindNamespaceMetadata is the kind of [NamespaceMetadata].
const KindNamespaceMetadata = "NamespaceMetadata"

// NamespaceMetadata is a file in a source by which a tenant asks for labels and
// annotations on its namespace. Those that the generator's
// spec.managedNamespaces.metadata.fromSource allows are set. It is not a
// resource of the API server; its JSON schema is docs/namespacemetadata-v1beta1.json.
type NamespaceMetadata struct {
	metav1.TypeMeta `json:",inline"`

	// Metadata holds the labels and annotations asked for. Default: none.
	// +optional
	Metadata Metadata `json:"metadata,omitempty"`
}
