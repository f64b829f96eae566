package v1beta1

// ManagedNamespaces is what a generator does to the namespaces that its
// artifacts target.
type ManagedNamespaces struct {
	// AllowedNames are CEL expressions, 1 to 1000 of them, over the string
	// variable ns, the name of a namespace. A namespace is managed only if one of
	// them is true; a target that none accepts is an error. The namespaces
	// default, kube-system, kube-public and flux-system are always refused.
	// Example: "ns.startsWith('tenant-')".
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +required
	AllowedNames []string `json:"allowedNames"`

	// Prune says whether a managed namespace, with everything in it, is deleted
	// when no artifact targets it any more or the generator is deleted. The
	// annotation source.extensions.fluxcd.io/prune: Disabled protects a single
	// namespace.
	// +required
	Prune bool `json:"prune"`

	// Metadata adds labels and annotations to the managed namespaces, on top of
	// commonMetadata: first those of fromSource, then the operations of from, in
	// order. Default: commonMetadata alone.
	// +optional
	Metadata *ManagedMetadata `json:"metadata,omitempty"`
}

// ManagedMetadata adds labels and annotations to managed namespaces.
//
// +kubebuilder:validation:XValidation:rule=`has(self.fromSource) || (has(self.from) && size(self.from) > 0)`,message="fromSource or at least one operation in from must be set"
type ManagedMetadata struct {
	// FromSource reads the metadata of a namespace from a file in a source.
	// Default: no file is read.
	// +optional
	FromSource *MetadataSource `json:"fromSource,omitempty"`

	// From lists operations, at most 1000, that are applied in order after
	// fromSource. Default: none.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	From []MetadataOperation `json:"from,omitempty"`
}

// MetadataSource is a NamespaceMetadata file in a source, and what it may set.
//
// +kubebuilder:validation:XValidation:rule=`(has(self.allowedAnnotations) && size(self.allowedAnnotations) > 0) || (has(self.allowedLabels) && size(self.allowedLabels) > 0)`,message="at least one key must be set in allowedAnnotations or allowedLabels"
type MetadataSource struct {
	// Path of the NamespaceMetadata file, in the format @alias/path. With a path
	// pattern it may use the captures that determine the namespace, so that all
	// artifacts of a namespace name the same file. At most 1024 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^@[a-zA-Z0-9_-]+/.+$`
	// +required
	Path string `json:"path"`

	// AllowedAnnotations are the annotations that the file may set: by key, a CEL
	// expression over the string variable value. A key that is not listed is
	// ignored; a value for which the expression is not true is an error. Default:
	// no annotations.
	// +optional
	AllowedAnnotations map[string]string `json:"allowedAnnotations,omitempty"`

	// AllowedLabels are the labels that the file may set: by key, a CEL
	// expression over the string variable value, with the same rules as for
	// allowedAnnotations. Default: no labels.
	// +optional
	AllowedLabels map[string]string `json:"allowedLabels,omitempty"`
}

// MetadataStrategy says how a [MetadataOperation] meets what is there already.
//
// +kubebuilder:validation:Enum=Reset;Override;Merge
type MetadataStrategy string

const (
	// MetadataReset drops all labels and annotations before it sets its own.
	MetadataReset MetadataStrategy = "Reset"
	// MetadataOverride sets its keys and keeps the others.
	MetadataOverride MetadataStrategy = "Override"
	// MetadataMerge sets only the keys that are absent.
	MetadataMerge MetadataStrategy = "Merge"
)

// AllNamespaces in [MetadataOperation].Namespace stands for every namespace
// that the generator manages.
const AllNamespaces = "*"

// MetadataOperation changes the metadata of one managed namespace or of all.
type MetadataOperation struct {
	// Strategy is Reset, to drop all labels and annotations before setting these,
	// Override, to set these and keep other keys, or Merge, to set only the keys
	// that are absent.
	// +required
	Strategy MetadataStrategy `json:"strategy"`

	// Namespace is the name of a managed namespace, a DNS-1123 label of at most
	// 63 characters, or "*" for all of them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([*]|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$`
	// +required
	Namespace string `json:"namespace"`

	Metadata `json:",inline"`
}
