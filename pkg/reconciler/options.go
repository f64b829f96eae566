package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/internal/look"
	"github.com/weir-dev/weir/pkg/reconciler/internal/pass"
	"github.com/weir-dev/weir/pkg/reconciler/internal/set"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// ReconcilerOptions are the defaults of a reconciler. The zero value works.
type ReconcilerOptions struct { //nolint:revive // the name is part of the published contract
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
	// Prune says when objects that left the set are removed. The default is to
	// wait until all objects of the set are ready.
	Prune policy.Prune
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
	// Gone says of an object that is no longer wanted that it went, or goes, with
	// its namespace: it is forgotten, and nothing is asked about it. That takes
	// no rights, which may have gone before. Nil means that every object is
	// looked at.
	Gone func(context.Context, object.Key) (bool, error)
	// Observe is told of every action once it is done or skipped, and nothing of
	// objects that need none. Calls come one at a time, in the order of the
	// waves.
	Observe func(plan.Outcome)
	// Parallel is the most requests in flight; zero means 8.
	Parallel int
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// check returns what is wrong with the options, or nil.
func (o *ReconcilerOptions) check(name string) error {
	var missing policy.MissingNamespaces
	if o.MissingNamespacesPolicy != nil {
		missing = *o.MissingNamespacesPolicy
	}
	for _, err := range []error{o.defaults().Check(), missing.Check(), o.Prune.Check()} {
		if err != nil {
			return &fault.Invalid{What: "options: " + err.Error()}
		}
	}
	switch msgs := validation.IsDNS1123Subdomain(name); {
	case len(msgs) > 0:
		return &fault.Invalid{What: fmt.Sprintf("reconciler name %q: %s", name, msgs[0])}
	case o.Sharing != nil && o.Sharing.Peer == nil:
		return &fault.Invalid{What: "options: Sharing.Peer is not set"}
	}
	return nil
}

// defaults returns the policy of objects that say nothing, with the fields
// that options set.
func (o *ReconcilerOptions) defaults() policy.Policy {
	p := policy.Policy{Conflict: o.Conflict, Immutable: o.Immutable, Reapply: o.ReapplyInterval}
	if o.AdoptionPolicy != nil {
		p.Adoption = *o.AdoptionPolicy
	}
	if o.UpdatePolicy != nil {
		p.Update = *o.UpdatePolicy
	}
	if o.DeletePolicy != nil {
		p.Delete = *o.DeletePolicy
	}
	update := policy.Replace
	if o.Sharing != nil {
		update = policy.SsaMerge
	}
	return p.Or(policy.Policy{
		Adoption: policy.AdoptIfUnowned, Reconcile: policy.OnObjectChange, Update: update, Delete: policy.DeleteAlways,
		Conflict: policy.Force, Immutable: policy.Refuse,
	})
}

func (o *ReconcilerOptions) config(name string) pass.Config {
	s := look.Style{
		Manager: cmp.Or(o.FieldOwner, name), Finalizer: cmp.Or(o.Finalizer, name),
		Stamp: o.Stamp, Shared: o.Sharing, Reclaim: o.Reclaim, Health: o.Health,
	}
	if s.Stamp.Label == "" {
		s.Stamp = stamp.Prefix(name)
	}
	if s.Reclaim == nil {
		s.Reclaim = []policy.Manager{{Name: "kubectl", Prefix: true}}
	}
	if s.Health == nil {
		s.Health = health.Standard()
	}
	if o.Director != nil {
		s.Direct = o.Director.Direct
	}
	c := pass.Config{
		Style: s,
		Prune: cmp.Or(o.Prune, policy.PruneReady), Full: o.DeleteFullNamespaces, Parallel: cmp.Or(o.Parallel, 8),
		Create:   o.MissingNamespacesPolicy == nil || *o.MissingNamespacesPolicy != policy.DoNotCreate,
		Metadata: o.Metadata, Gone: o.Gone, Observe: o.Observe, Now: o.Now,
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func (o *ReconcilerOptions) rules(name string, c *pass.Config) set.Rules {
	r := set.Rules{Name: name, Defaults: o.defaults(), Applied: c.Style.Shared != nil}
	if c.Style.Shared != nil {
		r.Norm.Labels = c.Style.Shared.Keys()
	} else {
		r.Norm.Labels, r.Norm.Annotations = c.Style.Stamp.Keys()
	}
	return r
}
