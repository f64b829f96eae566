package v1beta1

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KindArtifactGenerator is the kind of [ArtifactGenerator].
const KindArtifactGenerator = "ArtifactGenerator"

// DefaultInterval is the time between two reconciliations of a generator that
// does not set [AnnotationReconcileEvery].
const DefaultInterval = time.Hour

// ArtifactGenerator composes artifacts from one or more Flux sources, or splits
// one source into many artifacts, and publishes each as an ExternalArtifact.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ag,categories=all;fluxcd;fluxcd-sources
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message"
type ArtifactGenerator struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what to build, and from what.
	// +required
	Spec ArtifactGeneratorSpec `json:"spec"`
	// Status is what the controller last observed. It is written by the
	// controller alone.
	// +optional
	Status ArtifactGeneratorStatus `json:"status,omitempty"`
}

// ArtifactGeneratorList is a list of [ArtifactGenerator].
//
// +kubebuilder:object:root=true
type ArtifactGeneratorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the generators of the list.
	Items []ArtifactGenerator `json:"items"`
}

// ArtifactGeneratorSpec is what to build, and from what.
//
// Names are checked here only without a path pattern; with one they are
// templates, and what they render to is checked instead.
//
// +kubebuilder:validation:XValidation:fieldPath=".artifacts",rule=`has(self.pathPattern) || self.artifacts.all(a, a.name.size() <= 253 && a.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))`,message="without pathPattern, the name of an artifact must be a DNS-1123 subdomain of at most 253 characters"
// +kubebuilder:validation:XValidation:fieldPath=".artifacts",rule=`has(self.pathPattern) || self.artifacts.all(a, !has(a.__namespace__) || (a.__namespace__.size() <= 63 && a.__namespace__.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')))`,message="without pathPattern, the namespace of an artifact must be a DNS-1123 label of at most 63 characters"
type ArtifactGeneratorSpec struct {
	// CommonMetadata holds labels and annotations for everything that the
	// generator creates: its ExternalArtifacts and its managed namespaces. A key
	// given here replaces the same key on the object. The labels
	// app.kubernetes.io/managed-by and source.extensions.fluxcd.io/generator are
	// reserved and cannot be overridden. Default: none.
	// +optional
	CommonMetadata *Metadata `json:"commonMetadata,omitempty"`

	// Sources are the Flux sources to take files from, 1 to 1000 of them. Their
	// aliases must be unique in the generator.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +required
	Sources []Source `json:"sources"`

	// ServiceAccountName names a ServiceAccount in the generator's namespace
	// whose permissions decide in which namespaces ExternalArtifacts, and which
	// namespaces, the controller may write on behalf of this generator. A DNS-1123
	// label of at most 63 characters. Default: artifacts in the generator's own
	// namespace need no authorization; those of other namespaces are authorized
	// against the controller's default ServiceAccount, if it has one. Required,
	// here or as that default, for managed namespaces.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// PathPattern, in the format @alias/pattern, finds directories in one source
	// and renders every entry of artifacts once per directory. A capture such as
	// {tenant} stands for one or more characters of one path segment and is a
	// placeholder in the artifacts' fields; everything else is literal. Captured
	// values must be valid label values; they become labels of the artifact,
	// lower-cased. Example: "@monorepo/apps/{app}/envs/{env}". At most 1024
	// characters. Default: artifacts are not templates and are built once.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^@[a-zA-Z0-9_-]+/.*$`
	// +optional
	PathPattern string `json:"pathPattern,omitempty"`

	// ManagedNamespaces makes the controller create, label and, if asked, delete
	// the namespaces that the artifacts target. Default: namespaces are left
	// untouched and must exist.
	// +optional
	ManagedNamespaces *ManagedNamespaces `json:"managedNamespaces,omitempty"`

	// Artifacts are the ExternalArtifacts to build, 1 to 1000 of them; with a
	// path pattern they are templates. No two may have the same name in the same
	// namespace.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +required
	Artifacts []Artifact `json:"artifacts"`
}

// ArtifactGeneratorStatus is what the controller last observed.
type ArtifactGeneratorStatus struct {
	// LastHandledReconcileAt is the value of the annotation
	// reconcile.fluxcd.io/requestedAt that was last acted on. Empty: none yet.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// Conditions say how the generator is: Ready always, Reconciling while
	// work is under way, Stalled when nothing happens until the spec changes.
	// +listType=atomic
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Inventory lists the ExternalArtifacts and namespaces that this generator
	// manages. What the spec no longer asks for is found, and deleted, by it.
	// +listType=atomic
	// +optional
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// ObservedSourcesDigest is a digest, in the format algorithm:hex, of the
	// revisions, digests and addresses of the sources that the artifacts were
	// last built from. Empty: nothing was built yet.
	// +optional
	ObservedSourcesDigest string `json:"observedSourcesDigest,omitempty"`
}

// InventoryKind is the kind of an [InventoryEntry].
//
// +kubebuilder:validation:Enum=ExternalArtifact;Namespace
type InventoryKind string

const (
	// InventoryArtifact is a generated ExternalArtifact. The empty kind means
	// the same: generators stored before kinds existed have only artifacts.
	InventoryArtifact InventoryKind = "ExternalArtifact"
	// InventoryNamespace is a managed namespace.
	InventoryNamespace InventoryKind = "Namespace"
)

// InventoryEntry is one object that a generator manages.
type InventoryEntry struct {
	// Kind is ExternalArtifact or Namespace. Empty means ExternalArtifact, as
	// written by versions that managed nothing else.
	// +optional
	Kind InventoryKind `json:"kind,omitempty"`

	// Name of the object.
	// +required
	Name string `json:"name"`

	// Namespace of the object. Empty for namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Digest, in the format algorithm:hex, is the content digest of an artifact,
	// or the digest of the metadata that was applied to a namespace.
	// +required
	Digest string `json:"digest"`

	// Filename is the artifact's file in the controller's storage. Empty for
	// namespaces.
	// +optional
	Filename string `json:"filename,omitempty"`
}

// IsArtifact reports whether the entry is an ExternalArtifact; an entry without
// a kind is one.
func (e InventoryEntry) IsArtifact() bool {
	return e.Kind == InventoryArtifact || e.Kind == ""
}

// GetConditions returns the conditions of the status.
func (g *ArtifactGenerator) GetConditions() []metav1.Condition { return g.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (g *ArtifactGenerator) SetConditions(c []metav1.Condition) { g.Status.Conditions = c }

// IsDisabled reports whether [AnnotationReconcile] suspends the generator. The
// value is matched in any case; all but Disabled mean enabled.
func (g *ArtifactGenerator) IsDisabled() bool {
	return strings.EqualFold(g.Annotations[AnnotationReconcile], ValueDisabled)
}

// Interval returns the time between two reconciliations: the value of
// [AnnotationReconcileEvery] if it is a positive Go duration, otherwise
// [DefaultInterval]. It has no lower bound and no jitter; both are the caller's.
func (g *ArtifactGenerator) Interval() time.Duration {
	d, err := time.ParseDuration(g.Annotations[AnnotationReconcileEvery])
	if err != nil || d <= 0 {
		return DefaultInterval
	}
	return d
}
