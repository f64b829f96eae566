package reconciler

import "github.com/weir-dev/weir/pkg/reconciler/policy"

type (
	// AdoptionPolicy decides what happens to an object that exists and is not
	// ours.
	AdoptionPolicy = policy.Adoption
	// ReconcilePolicy decides when an object is written again.
	ReconcilePolicy = policy.Reconcile
	// UpdatePolicy decides how an existing object is updated.
	UpdatePolicy = policy.Update
	// DeletePolicy decides what happens to an object that is to be removed.
	DeletePolicy = policy.Delete
	// MissingNamespacesPolicy decides what happens when a namespace is missing.
	MissingNamespacesPolicy = policy.MissingNamespaces
)

// The values of the policies; package policy says more about each.
const (
	// AdoptionPolicyNever fails if the object exists and is not ours.
	AdoptionPolicyNever = policy.AdoptNever
	// AdoptionPolicyIfUnowned adopts an object that has no owner (default).
	AdoptionPolicyIfUnowned = policy.AdoptIfUnowned
	// AdoptionPolicyAlways adopts the object even from another owner.
	AdoptionPolicyAlways = policy.AdoptAlways

	// ReconcilePolicyOnObjectChange writes when the manifest changes, or the
	// object drifts from it (default).
	ReconcilePolicyOnObjectChange = policy.OnObjectChange
	// ReconcilePolicyOnObjectOrComponentChange also writes when the owner's
	// digest changes.
	ReconcilePolicyOnObjectOrComponentChange = policy.OnObjectOrComponentChange
	// ReconcilePolicyOnce applies the object once and never touches it again.
	ReconcilePolicyOnce = policy.Once

	// UpdatePolicyRecreate deletes and creates the object on update.
	UpdatePolicyRecreate = policy.Recreate
	// UpdatePolicyReplace sends a full PUT (default).
	UpdatePolicyReplace = policy.Replace
	// UpdatePolicySsaMerge applies on the server's side and leaves the fields of
	// others alone.
	UpdatePolicySsaMerge = policy.SsaMerge
	// UpdatePolicySsaOverride also reclaims the fields of kubectl and such.
	UpdatePolicySsaOverride = policy.SsaOverride

	// DeletePolicyDelete deletes the object (default).
	DeletePolicyDelete = policy.DeleteAlways
	// DeletePolicyOrphan leaves the object in both cases.
	DeletePolicyOrphan = policy.Orphan
	// DeletePolicyOrphanOnApply leaves it when it left the set during an apply.
	DeletePolicyOrphanOnApply = policy.OrphanOnApply
	// DeletePolicyOrphanOnDelete leaves it when the whole set is deleted.
	DeletePolicyOrphanOnDelete = policy.OrphanOnDelete

	// MissingNamespacesPolicyDoNotCreate leaves missing namespaces missing.
	MissingNamespacesPolicyDoNotCreate = policy.DoNotCreate
	// MissingNamespacesPolicyCreate creates missing namespaces (default).
	MissingNamespacesPolicyCreate = policy.Create
)
