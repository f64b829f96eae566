package v1beta1

// Condition types of an [ArtifactGenerator].
const (
	// ConditionReady is True when all artifacts were built and published.
	ConditionReady = "Ready"
	// ConditionReconciling is True while work is under way, and absent otherwise.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing happens until the spec changes, and
	// absent otherwise.
	ConditionStalled = "Stalled"
)

// Reasons of an [ArtifactGenerator]'s conditions and events.
const (
	// ReasonSucceeded is that of Ready=True.
	ReasonSucceeded = "Succeeded"
	// ReasonProgressing is that of Reconciling=True and Ready=Unknown.
	ReasonProgressing = "Progressing"
	// ReasonProgressingWithRetry is that of Reconciling=True after a failure
	// that is retried.
	ReasonProgressingWithRetry = "ProgressingWithRetry"
	// ReasonReconciliationDisabled tells that the generator is suspended.
	ReasonReconciliationDisabled = "ReconciliationDisabled"

	// ReasonValidationFailed tells that the spec is wrong, whatever the sources
	// hold.
	ReasonValidationFailed = "ValidationFailed"
	// ReasonAccessDenied tells that a source may not be referred to, or that the
	// ServiceAccount may not do what the spec asks for.
	ReasonAccessDenied = "AccessDenied"
	// ReasonSourceFetchFailed tells that a source is missing, not ready or
	// cannot be downloaded.
	ReasonSourceFetchFailed = "SourceFetchFailed"
	// ReasonBuildFailed tells that an artifact cannot be made from what the
	// sources hold.
	ReasonBuildFailed = "BuildFailed"
	// ReasonReconciliationFailed tells that an artifact or namespace cannot be
	// stored or applied.
	ReasonReconciliationFailed = "ReconciliationFailed"
	// ReasonPruneFailed tells that an artifact or namespace cannot be removed.
	ReasonPruneFailed = "PruneFailed"
	// ReasonPruneBlocked tells that more artifacts and namespaces would be removed
	// than the budget of the generator allows, and that none is.
	ReasonPruneBlocked = "PruneBlocked"
	// ReasonOwnershipConflict tells that another generator manages an artifact
	// or namespace.
	ReasonOwnershipConflict = "OwnershipConflict"
	// ReasonAdopted tells of an artifact or namespace that nobody managed and
	// this generator does now.
	ReasonAdopted = "Adopted"
)
