package v1beta1

// Finalizer keeps a generator until what it manages is removed.
const Finalizer = "source.extensions.fluxcd.io/finalizer"

// Labels of the objects that a generator manages. Both are reserved: no
// metadata of a spec or a file can set them.
const (
	// LabelGenerator holds the UID of the managing generator.
	LabelGenerator = "source.extensions.fluxcd.io/generator"
	// LabelManagedBy holds the name of the managing program.
	LabelManagedBy = "app.kubernetes.io/managed-by"
)

// Annotations. Their values are matched in any case, unless said otherwise.
const (
	// AnnotationReconcile with the value [ValueDisabled] suspends a generator,
	// or the management of the namespace that it is on.
	AnnotationReconcile = "source.extensions.fluxcd.io/reconcile"
	// AnnotationReconcileEvery is a generator's interval, a positive Go duration.
	AnnotationReconcileEvery = "source.extensions.fluxcd.io/reconcileEvery"
	// AnnotationRequestedAt asks for a reconciliation whenever its value
	// changes. The value is opaque.
	AnnotationRequestedAt = "reconcile.fluxcd.io/requestedAt"
	// AnnotationPrune on a namespace protects it from deletion with
	// [ValueDisabled]; on a generator, [ValueForce] confirms a prune that a
	// change of the spec would cause.
	AnnotationPrune = "source.extensions.fluxcd.io/prune"
	// AnnotationPruneBudget on a generator is how many objects one pass may
	// remove: a number such as 10, or a percentage such as 20% of those that are
	// wanted. Default: no bound.
	AnnotationPruneBudget = "weir.dev/prune-budget"
	// AnnotationApprovePrune on a generator is the digest of a set of objects that
	// may be removed although it is over the budget.
	AnnotationApprovePrune = "weir.dev/approve-prune"
	// AnnotationSSA is how a namespace is applied: [ValueOverride] (the
	// default), [ValueMerge], [ValueIfNotPresent] or [ValueIgnore].
	AnnotationSSA = "source.extensions.fluxcd.io/ssa"
	// AnnotationExternalFinalizer hands the deletion of a namespace over to the
	// object that it names, as group/version/kind/namespace/name/uid, or
	// group/version/kind/name/uid if that is cluster-scoped. The value is matched
	// exactly.
	AnnotationExternalFinalizer = "source.extensions.fluxcd.io/externalFinalizer"
)

// Values of the annotations.
const (
	ValueEnabled      = "Enabled"
	ValueDisabled     = "Disabled"
	ValueForce        = "Force"
	ValueOverride     = "Override"
	ValueMerge        = "Merge"
	ValueIfNotPresent = "IfNotPresent"
	ValueIgnore       = "Ignore"
)
