package v1beta2

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultResyncPeriod is that of a replication that names none.
const DefaultResyncPeriod = time.Minute

// ReplicationSpec is what both kinds of replications have in common.
type ReplicationSpec struct {
	// Resources are the blocks of objects to replicate. There may be none.
	// +listType=atomic
	// +required
	Resources []Block `json:"resources"`

	// ResyncPeriod is the time between two runs when nothing else asks for one,
	// as a Go duration; up to a tenth is added to it. 0s or less: none.
	// Default: 60s.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	// +optional
	ResyncPeriod string `json:"resyncPeriod,omitempty"`

	// Cordoned suspends the replication: nothing is applied and nothing removed.
	// One that is deleted cleans up all the same. Default: false.
	// +optional
	Cordoned bool `json:"cordoned,omitempty"`

	// DependsOn names replications of the same kind, for a TenantResource in the
	// same namespace, that must be Ready first. Default: none.
	// +listType=atomic
	// +optional
	DependsOn []Dependency `json:"dependsOn,omitempty"`

	// PruningOnDelete is deprecated: use policy.deletion. It holds for blocks
	// without a policy, in which false means Orphan. Default: true.
	// +optional
	PruningOnDelete *bool `json:"pruningOnDelete,omitempty"`

	// Settings are deprecated: use policy. They hold for blocks without one.
	// +optional
	Settings *Settings `json:"settings,omitempty"`
}

// Dependency names a replication of the same kind.
type Dependency struct {
	// Name of the replication.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	Name string `json:"name"`
}

// Settings are deprecated: use [Policy].
type Settings struct {
	// Adopt is policy.creation Merge. Default: false.
	// +optional
	Adopt bool `json:"adopt,omitempty"`
	// Force is policy.force. Default: false.
	// +optional
	Force bool `json:"force,omitempty"`
}

// Period returns the time between two runs; zero means that there are none by
// the clock. It fails for text that is no Go duration, which the API server
// lets pass only if it is out of range.
func (s *ReplicationSpec) Period() (time.Duration, error) {
	if s.ResyncPeriod == "" {
		return DefaultResyncPeriod, nil
	}
	d, err := time.ParseDuration(s.ResyncPeriod)
	if err != nil {
		return 0, fmt.Errorf("spec.resyncPeriod: %w", err)
	}
	return max(d, 0), nil
}

// AccountStatus names a ServiceAccount.
type AccountStatus struct {
	// Name of the ServiceAccount.
	// +optional
	Name string `json:"name,omitempty"`
	// Namespace of the ServiceAccount.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// ReplicationStatus is what both kinds of replications have in common.
type ReplicationStatus struct {
	// ObservedGeneration is the generation that the last run has seen.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Size is the number of targets: of the processed items, unless there are too
	// many for a status.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +optional
	Size int64 `json:"size"`

	// Conditions say how the replication is: Ready and Cordoned always,
	// Reconciling while work is under way, Stalled when nothing happens until the
	// spec changes.
	// +listType=atomic
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ServiceAccount is who the last run acted as. It is set before the run
	// writes anything.
	// +optional
	ServiceAccount *AccountStatus `json:"serviceAccount,omitempty"`

	// Counts is how many targets are in which state. Absent: none were looked at
	// yet.
	// +optional
	Counts *Counts `json:"counts,omitempty"`

	// ProcessedItems are the targets that the replication manages, is to manage
	// or has not cleaned up yet. Of more than fit into half a megabyte it has those
	// that fail, then those that leave, then those that are skipped, then others;
	// "weir get items" shows all.
	// +listType=atomic
	// +optional
	ProcessedItems []ProcessedItem `json:"processedItems,omitempty"`

	// Inventory is the controller's own record of the targets: gzipped JSON.
	// +optional
	Inventory []byte `json:"inventory,omitempty"`

	// Shards are where the record is, and all items, of a replication with more
	// targets than fit into its status. Absent: there are none.
	// +optional
	Shards *Shards `json:"shards,omitempty"`
}

// Counts is how many targets are in which state.
type Counts struct {
	// Ready targets are as they are wanted.
	// +optional
	Ready int64 `json:"ready"`
	// Failed targets could not be applied or cleaned up.
	// +optional
	Failed int64 `json:"failed"`
	// Skipped targets are left as they are, by the condition of their policy.
	// +optional
	Skipped int64 `json:"skipped"`
	// Leaving targets are no longer wanted and not gone yet.
	// +optional
	Leaving int64 `json:"leaving"`
}

// Shards are ConfigMaps with the record of a replication.
type Shards struct {
	// Namespace of the ConfigMaps.
	// +required
	Namespace string `json:"namespace"`
	// Revision is the oldest state of the ConfigMaps that may be believed. Zero:
	// none, for they are about to be written first or removed, and the record is
	// in the status.
	// +optional
	Revision int64 `json:"revision"`
}

// ProcessedItem is one target.
type ProcessedItem struct {
	// Tenant of the target; None in the scope None.
	// +optional
	Tenant string `json:"tenant,omitempty"`
	// Origin tells what produced the target: BLOCK/raw-N, BLOCK/generator-N-M or
	// replica. It is a report; targets are told apart by the other fields.
	// +optional
	Origin string `json:"origin,omitempty"`
	// Group of the target.
	// +optional
	Group string `json:"group,omitempty"`
	// Version of the target's API.
	// +optional
	Version string `json:"version,omitempty"`
	// Kind of the target.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Name of the target.
	// +optional
	Name string `json:"name,omitempty"`
	// Namespace of the target; empty if its kind is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Status is how the target is.
	// +optional
	Status ItemStatus `json:"status,omitempty"`
}

// ItemStatus is how a target is.
type ItemStatus struct {
	// ClusterScoped tells that the kind has no namespaces.
	// +optional
	ClusterScoped bool `json:"clusterScoped"`
	// Created tells that a replication created the target. False means that it
	// was adopted or is not managed.
	// +optional
	Created bool `json:"created"`
	// LastApply is when content was last applied. Absent: never.
	// +optional
	LastApply *metav1.Time `json:"lastApply,omitempty"`
	// Type is Ready.
	// +required
	Type string `json:"type"`
	// Status is True, False or Unknown.
	// +required
	Status metav1.ConditionStatus `json:"status"`
	// Message tells what is wrong, or that the condition of the policy was false.
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	Message string `json:"message,omitempty"`
	// Policy is the one that was last reconciled; it decides what becomes of the
	// target in the end. Absent: none was yet.
	// +optional
	Policy *Reconciled `json:"policy,omitempty"`
}
