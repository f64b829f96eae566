package v1beta2

// Condition types of replications.
const (
	// ConditionReady is True when everything is as the spec says. Targets that a
	// condition of a policy skips do not make it False.
	ConditionReady = "Ready"
	// ConditionCordoned mirrors spec.cordoned.
	ConditionCordoned = "Cordoned"
	// ConditionReconciling is True while work is under way or a failure is
	// retried, and absent otherwise.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing happens until the spec changes, and
	// absent otherwise.
	ConditionStalled = "Stalled"
)

// Reasons of conditions of replications.
const (
	// ReasonSucceeded is that of Ready=True.
	ReasonSucceeded = "Succeeded"
	// ReasonReconciling is that of Ready=Unknown, while work is under way.
	ReasonReconciling = "Reconciling"
	// ReasonFailed tells that sources, targets or removals failed; the items say
	// which.
	ReasonFailed = "Failed"
	// ReasonValidationFailed tells that the spec is wrong in a way that the API
	// server could not see.
	ReasonValidationFailed = "ValidationFailed"
	// ReasonDependencyNotReady tells that a replication of spec.dependsOn is
	// missing, not ready or waits for this one.
	ReasonDependencyNotReady = "DependencyNotReady"
	// ReasonTenantNotFound tells that the namespace of a TenantResource is in no
	// tenant.
	ReasonTenantNotFound = "TenantNotFound"

	// ReasonPruneBlocked tells that more targets would be removed than the budget
	// of the replication allows, and that none is.
	ReasonPruneBlocked = "PruneBlocked"

	// ReasonActive and ReasonCordoned are those of the condition Cordoned.
	ReasonActive   = "Active"
	ReasonCordoned = "Cordoned"
)

// Reasons of events about targets.
const (
	ReasonCreated  = "Created"
	ReasonAdopted  = "Adopted"
	ReasonConflict = "Conflict"
	ReasonSkipped  = "Skipped"
	ReasonPruned   = "Pruned"
	ReasonOrphaned = "Orphaned"
	ReasonMerged   = "Merged"
)

// MessageSkipped is that of an item whose content was not applied because the
// condition of its policy is false.
const MessageSkipped = "ConditionNotMet: apply skipped"

// MessageReconciled is that of Ready=True.
const MessageReconciled = "reconciled"
