package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Block is one entry of spec.resources: objects, where they go and how they are
// managed there.
type Block struct {
	// NamespaceSelector selects, by their labels, some of the namespaces of the
	// selected tenants. It never reaches other namespaces. Default: all of them.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// RawItems are manifests. In their keys and values {{tenant.name}} and
	// {{namespace}} are replaced; other placeholders become empty. Default: none.
	// +listType=atomic
	// +optional
	RawItems []RawItem `json:"rawItems,omitempty"`

	// NamespacedItems are existing objects to copy. Default: none.
	// +listType=atomic
	// +optional
	NamespacedItems []Reference `json:"namespacedItems,omitempty"`

	// Generators are Go templates that render manifests. Default: none.
	// +listType=atomic
	// +optional
	Generators []Generator `json:"generators,omitempty"`

	// Context loads objects that generators can use. Default: none.
	// +optional
	Context *Context `json:"context,omitempty"`

	// AdditionalMetadata is set on every target of the block and wins over the
	// metadata of manifests. Placeholders are those of rawItems. Default: none.
	// +optional
	AdditionalMetadata *AdditionalMetadata `json:"additionalMetadata,omitempty"`

	// Policy is how the targets are managed. Default: that of the deprecated
	// fields settings and pruningOnDelete, which for their defaults is the same
	// as an empty policy.
	// +optional
	Policy *Policy `json:"policy,omitempty"`
}

// RawItem is a manifest of any kind.
//
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:validation:Type=object
type RawItem struct {
	runtime.RawExtension `json:",inline"`
}

// Reference names objects: one by its name, or all that a selector selects.
type Reference struct {
	// APIVersion of the objects. Default: v1.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind of the objects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Kind string `json:"kind"`

	// Name of one object. Placeholders are those of rawItems. Default: all
	// objects that the selector selects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`

	// Namespace of the objects. Placeholders are those of rawItems. Default, and
	// when it renders to nothing: for context the namespace that is rendered for;
	// for namespacedItems of a TenantResource its own namespace, and of a
	// GlobalTenantResource all namespaces, which needs a selector or no name.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Selector selects objects by their labels. It is not used together with
	// name. Placeholders are those of rawItems. Default: all objects.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Optional says that it is no error when the named object does not exist.
	// Default: true.
	// +kubebuilder:default=true
	// +optional
	Optional *bool `json:"optional,omitempty"`
}

// IsOptional reports whether the named object may be missing.
func (r *Reference) IsOptional() bool { return r.Optional == nil || *r.Optional }

// Context is what a template knows beside the tenant and the namespace.
type Context struct {
	// Resources are loaded for each render. Default: none.
	// +listType=atomic
	// +optional
	Resources []ContextResource `json:"resources,omitempty"`
}

// ContextResource loads objects into a template's context.
type ContextResource struct {
	Reference `json:",inline"`

	// Index is the key of the list of objects in the template's context; the
	// names tenant, namespace and replications are taken. Default: the position
	// in the list, from 0.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Index string `json:"index,omitempty"`
}

// MissingKey says what a template does with a key that does not exist.
//
// +kubebuilder:validation:Enum=invalid;zero;error
type MissingKey string

const (
	// MissingKeyInvalid prints "<no value>".
	MissingKeyInvalid MissingKey = "invalid"
	// MissingKeyZero prints nothing.
	MissingKeyZero MissingKey = "zero"
	// MissingKeyError fails.
	MissingKeyError MissingKey = "error"
)

// Generator is a Go template that renders any number of YAML documents.
type Generator struct {
	// Template is the text. The root has the keys tenant, namespace (in scope
	// Namespace), replications and those of the context.
	// +optional
	Template string `json:"template,omitempty"`

	// MissingKey is invalid, zero or error. Default: zero.
	// +kubebuilder:default=zero
	// +optional
	MissingKey MissingKey `json:"missingKey,omitempty"`
}

// AdditionalMetadata is labels and annotations.
type AdditionalMetadata struct {
	// Labels by key. Default: none.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations by key. Default: none.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}
