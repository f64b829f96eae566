package v1beta1

// ArtifactAlias is the alias of the artifact being built: @artifact/path in
// [Copy].To and [Artifact].InputsFrom.
const ArtifactAlias = "artifact"

// OriginRevisionKey is the key in an ExternalArtifact's
// status.artifact.metadata that holds the revision which
// [Artifact].OriginRevision asks for.
const OriginRevisionKey = "org.opencontainers.image.revision"

// Artifact is one ExternalArtifact to build, or, with a path pattern, a
// template that is rendered for every directory found.
type Artifact struct {
	// Name of the ExternalArtifact. It must be a DNS-1123 subdomain of at most
	// 253 characters and unique in its namespace among the artifacts of this
	// generator. With a path pattern it is a template of at most 1024 characters,
	// rendered with the lower-cased captures.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Name string `json:"name"`

	// Namespace of the ExternalArtifact. It must be a DNS-1123 label of at most
	// 63 characters. With a path pattern it is a template of at most 1024
	// characters, rendered with the lower-cased captures. Default: the
	// generator's namespace.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// InputsFrom is the path of a YAML file, in the format @alias/path for a
	// file of a source or @artifact/path for one of the built artifact. The file
	// holds one mapping; each top-level key becomes an entry of the
	// ExternalArtifact's status.exportedInputs. With a path pattern the path may
	// use captures. At most 1024 characters. Default: no inputs are exported.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^@[a-zA-Z0-9_-]+/.+$`
	// +optional
	InputsFrom string `json:"inputsFrom,omitempty"`

	// Revision, in the format @alias, takes the artifact's revision over from
	// that source. Default: latest@sha256:hex, computed from the artifact's
	// content.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^@[a-zA-Z0-9_-]+$`
	// +optional
	Revision string `json:"revision,omitempty"`

	// OriginRevision, in the format @alias, records the origin revision of that
	// source, or its revision if it has no origin, in the artifact's metadata
	// under org.opencontainers.image.revision. It does not change the artifact's
	// revision. Default: none is recorded.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^@[a-zA-Z0-9_-]+$`
	// +optional
	OriginRevision string `json:"originRevision,omitempty"`

	// Copy lists what the artifact is made of, 1 to 1000 operations. They run in
	// order, and a later one may overwrite what an earlier one copied.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +required
	Copy []Copy `json:"copy"`
}

// CopyStrategy says what a copy does with a file.
//
// +kubebuilder:validation:Enum=Overwrite;Merge;Extract
type CopyStrategy string

const (
	// CopyOverwrite replaces a file that exists. It is the default; the empty
	// strategy means the same.
	CopyOverwrite CopyStrategy = "Overwrite"
	// CopyMerge merges a YAML file into the one that exists, as Helm merges
	// values files.
	CopyMerge CopyStrategy = "Merge"
	// CopyExtract unpacks a gzipped tarball into the destination directory.
	CopyExtract CopyStrategy = "Extract"
)

// Copy takes files from a source into the artifact, with the semantics of cp.
type Copy struct {
	// From is what to copy, in the format @alias/pattern: a file, a directory or
	// a glob, relative to the root of the source. "@s/dir/" copies the directory,
	// "@s/dir/**" what is in it. "**" crosses directories and "{a,b}" alternates,
	// with at most 20 commas. With a path pattern it may use captures. At most
	// 1024 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^@[a-zA-Z0-9_-]+/.*$`
	// +required
	From string `json:"from"`

	// To is where to copy it, in the format @artifact/path, relative to the root
	// of the artifact and without ".." in any segment. A trailing slash says that
	// the path is a directory, and a glob always copies into one. With a path
	// pattern it may use captures. At most 1024 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^@artifact/([.]?|[.]?[^./][^/]*|[.][.][^/]+)(/([.]?|[.]?[^./][^/]*|[.][.][^/]+))*$`
	// +required
	To string `json:"to"`

	// Exclude lists globs, at most 100 of at most 1024 characters each; files
	// that match one are not copied. They are matched against the path from the
	// root of the source and the path from the non-glob prefix of from; a pattern
	// without a slash also matches file names at any depth. Default: nothing is
	// excluded.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Exclude []string `json:"exclude,omitempty"`

	// Strategy is Overwrite, to replace files that exist, Merge, to merge YAML
	// files as Helm merges values files (lists are replaced), or Extract, to
	// unpack .tar.gz and .tgz files into the directory that to names. Default:
	// Overwrite.
	// +optional
	Strategy CopyStrategy `json:"strategy,omitempty"`

	// Optional makes the operation do nothing, instead of failing the artifact,
	// when from matches no file. Default: false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}
