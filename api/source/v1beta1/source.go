package v1beta1

// SourceKind is a kind of Flux source.
//
// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket;HelmChart;ExternalArtifact
type SourceKind string

// The kinds of sources.
const (
	SourceGitRepository    SourceKind = "GitRepository"
	SourceOCIRepository    SourceKind = "OCIRepository"
	SourceBucket           SourceKind = "Bucket"
	SourceHelmChart        SourceKind = "HelmChart"
	SourceExternalArtifact SourceKind = "ExternalArtifact"
)

// Source refers to a Flux source and gives it an alias.
type Source struct {
	// Alias is the name of the source inside this generator, as in
	// "@alias/path". It consists of letters, digits, dashes and underscores, has
	// at most 63 characters and is unique in the generator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_-]+$`
	// +required
	Alias string `json:"alias"`

	// Kind of the source: GitRepository, OCIRepository, Bucket, HelmChart or
	// ExternalArtifact.
	// +required
	Kind SourceKind `json:"kind"`

	// Name of the source object. A DNS-1123 subdomain of at most 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	Name string `json:"name"`

	// Namespace of the source object. A DNS-1123 label of at most 63 characters.
	// Other namespaces than the generator's are refused when the controller runs
	// with --no-cross-namespace-refs. Default: the generator's namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
