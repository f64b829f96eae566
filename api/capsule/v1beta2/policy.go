package v1beta2

// Creation says whether a target that exists may be managed.
//
// +kubebuilder:validation:Enum=Owner;Merge
type Creation string

const (
	// CreationOwner creates absent targets and manages those that replications
	// created. Any other existing object is an error and left alone.
	CreationOwner Creation = "Owner"
	// CreationMerge adopts existing objects and creates absent ones.
	CreationMerge Creation = "Merge"
)

// Deletion says what happens to a target that leaves the desired output.
//
// +kubebuilder:validation:Enum=Remove;Orphan
type Deletion string

const (
	// DeletionRemove deletes a target that replications created, once none of
	// them manages it any more. Of an adopted one it removes the fields that were
	// applied.
	DeletionRemove Deletion = "Remove"
	// DeletionOrphan leaves the target with the fields that were applied.
	DeletionOrphan Deletion = "Orphan"
)

// Policy is how the targets of one block are managed.
type Policy struct {
	// Creation is Owner or Merge: whether an existing object that no replication
	// created may be adopted. Default: Owner.
	// +kubebuilder:default=Owner
	// +optional
	Creation Creation `json:"creation,omitempty"`

	// Protect lets only the controller and the ServiceAccount of the replication
	// change or delete the target while it is managed. Default: true.
	// +kubebuilder:default=true
	// +optional
	Protect *bool `json:"protect,omitempty"`

	// Force takes fields that other managers own. Otherwise they are a conflict
	// and the target is left alone. Default: false.
	// +kubebuilder:default=false
	// +optional
	Force *bool `json:"force,omitempty"`

	// Deletion is Remove or Orphan: what becomes of a target that leaves the
	// desired output. The last policy that was reconciled decides. Default:
	// Remove.
	// +kubebuilder:default=Remove
	// +optional
	Deletion Deletion `json:"deletion,omitempty"`

	// Condition is a CEL expression of 1 to 4096 characters that decides for
	// each target, each time, whether its content is applied. It must be a bool;
	// object is the target as it is in the cluster, null if it is absent, and now
	// is the time. It is no template and must not be blank. It does not hold up
	// cleanup. Default: always apply.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^\s*([^\s{]|\{[^{])`
	// +optional
	Condition string `json:"condition,omitempty"`
}

// Reconciled is the policy that a target was last reconciled with.
type Reconciled struct {
	// Creation is the block's creation.
	// +required
	Creation Creation `json:"creation"`
	// Protect is the block's protect.
	// +required
	Protect bool `json:"protect"`
	// Force is the block's force.
	// +required
	Force bool `json:"force"`
	// Deletion is the block's deletion. It decides what becomes of the target.
	// +required
	Deletion Deletion `json:"deletion"`
}
