package v1beta2

// Labels.
const (
	// LabelTenant on a namespace names the Tenant that it belongs to.
	LabelTenant = "capsule.clastix.io/tenant"

	// LabelManagedBy is on every object that a replication manages, created and
	// adopted ones. No manifest can set it.
	LabelManagedBy = "projectcapsule.dev/managed-by"
	// LabelCreatedBy is on the objects that replications created. No manifest
	// can set it.
	LabelCreatedBy = "projectcapsule.dev/created-by"
	// LabelProtected marks an object that only its replications may change. No
	// manifest can set it.
	LabelProtected = "protection.projectcapsule.dev/replications"

	// LabelProtectedBy, LabelResources and LabelCapsuleManagedBy were written by
	// earlier versions of Capsule. They are read, taken off and never written,
	// and no manifest can set them. LabelResources says that Capsule created the
	// object.
	LabelProtectedBy      = "projectcapsule.dev/protected-by"
	LabelResources        = "capsule.clastix.io/resources"
	LabelCapsuleManagedBy = "capsule.clastix.io/managed-by"
)

// Values of labels.
const (
	// ValueResources is that of [LabelManagedBy] and [LabelCreatedBy].
	ValueResources = "resources"
	// ValueReplications is what Capsule's code writes in its place. It is read
	// as the same.
	ValueReplications = "replications"
	// ValueProtected is that of [LabelProtected].
	ValueProtected = "true"
)

const (
	// AnnotationRequestedAt on a replication asks for a run whenever its value
	// changes. It is taken off when the run ends.
	AnnotationRequestedAt = "reconcile.projectcapsule.dev/requestedAt"

	// AnnotationPruneBudget on a replication is how many targets one run may
	// remove: a number such as 10, or a percentage such as 20% of those that are
	// wanted. Default: no bound.
	AnnotationPruneBudget = "weir.dev/prune-budget"
	// AnnotationApprovePrune on a replication is the digest of a set of targets
	// that may be removed although it is over the budget.
	AnnotationApprovePrune = "weir.dev/approve-prune"

	// Finalizer keeps a replication while there is something to clean up.
	Finalizer = "controller.projectcapsule.dev/finalize"
	// FinalizerLegacy was set by earlier versions of Capsule. It is taken off.
	FinalizerLegacy = "capsule.clastix.io/resources"
)

// TenantNone is the tenant of items of the scope None.
const TenantNone = "None"
