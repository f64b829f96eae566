package reconciler

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// ReconcilerOptions are the defaults of a reconciler. The zero value works.
type ReconcilerOptions struct {
	// AdoptionPolicy defaults to [AdoptionPolicyIfUnowned].
	AdoptionPolicy *AdoptionPolicy
	// UpdatePolicy defaults to [UpdatePolicyReplace], and to
	// [UpdatePolicySsaMerge] with Sharing.
	UpdatePolicy *UpdatePolicy
	// DeletePolicy defaults to [DeletePolicyDelete].
	DeletePolicy *DeletePolicy
	// MissingNamespacesPolicy defaults to [MissingNamespacesPolicyCreate].
	MissingNamespacesPolicy *MissingNamespacesPolicy

	// Conflict says what a server-side apply does about fields of other
	// managers. The default is to take them.
	Conflict policy.Conflict
	// Immutable says what happens when an update changes a field that cannot
	// change. The default is to refuse.
	Immutable policy.Immutable
	// ReapplyInterval is the time after which an unchanged object is written
	// again; zero means never.
	ReapplyInterval time.Duration
	// Reclaim are the managers whose fields [UpdatePolicySsaOverride] takes.
	// Nil means all whose names begin with "kubectl".
	Reclaim []policy.Manager
	// PruneEarly removes what left the set as soon as every object of the set
	// is written, rather than when all of them are ready.
	PruneEarly bool
	// DeleteFullNamespaces deletes a Namespace of the set also while it holds
	// objects that are not ours. Otherwise it is not deleted until they go.
	DeleteFullNamespaces bool
	// ManagedTypes are kinds that objects of the set bring about without
	// defining them, such as an operator that installs its own kinds.
	ManagedTypes []policy.Type

	// FieldOwner is the field manager; empty means the reconciler's name.
	FieldOwner string
	// Finalizer is put on objects that define kinds; empty means the
	// reconciler's name.
	Finalizer string
	// Stamp is how an exclusive owner is recorded on its objects. The zero
	// value means [stamp.Prefix] of the reconciler's name.
	Stamp stamp.Stamp
	// Sharing lets several owners share objects, each with field managers of
	// its own. Nil means that an object has one owner.
	Sharing *stamp.Shared

	// Metadata, if set, is listed for the metadata of our objects, once for
	// every kind and namespace, and only objects that changed are read. With a
	// cache, a pass without changes sends no request. It must not strip labels.
	Metadata client.Reader
	// Health tells when objects are ready; nil means [health.Standard].
	Health health.Analyzer
	// Director reads directives from live objects; nil means there are none.
	Director Director
	// Observe is told of every action once it is done or skipped. Calls come
	// one at a time and in the order of the waves.
	Observe func(plan.Outcome)
	// Parallel is the most requests in flight; zero means 8.
	Parallel int
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}
