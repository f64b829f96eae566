// Package policy is what may be decided about one object: whether an existing
// one is adopted, when it is written again, how it is updated and what becomes
// of it in the end. It is pure; it reads values and annotations and never an
// object.
package policy

import (
	"slices"
	"time"
)

// Adoption decides what happens when an object exists but carries no owner id,
// or a different one.
type Adoption string

const (
	// AdoptNever fails if the object exists and is not ours.
	AdoptNever Adoption = "Never"
	// AdoptIfUnowned adopts an object that has no owner. It is the default.
	AdoptIfUnowned Adoption = "IfUnowned"
	// AdoptAlways adopts the object even from another owner, once: when the
	// other takes it back, that is a fight, which is reported and not fought.
	AdoptAlways Adoption = "Always"
)

// Reconcile decides when an object is written again.
type Reconcile string

const (
	// OnObjectChange writes when the manifest changes, or when the object's
	// fields in the cluster no longer say what was written. It is the default.
	OnObjectChange Reconcile = "OnObjectChange"
	// OnObjectOrComponentChange also writes when the owner's digest changes.
	OnObjectOrComponentChange Reconcile = "OnObjectOrComponentChange"
	// Once writes the object when it is absent and never touches it again.
	Once Reconcile = "Once"
)

// Update decides how an existing object is updated.
type Update string

const (
	// Replace sends a full PUT. It is the default of exclusive owners.
	Replace Update = "Replace"
	// Recreate deletes the object and creates it again, after a dry run has
	// proved that the server would take the new one.
	Recreate Update = "Recreate"
	// SsaMerge is a server-side apply that leaves the fields of others alone.
	// It is the default of shared owners.
	SsaMerge Update = "SsaMerge"
	// SsaOverride is a server-side apply that first reclaims the fields of
	// certain managers, kubectl by default, so that what the manifest does not
	// say goes away.
	SsaOverride Update = "SsaOverride"
)

// Delete decides what happens to an object that left the set, and to all
// objects when the whole set is deleted.
type Delete string

const (
	// DeleteAlways deletes the object in both cases. It is the default.
	DeleteAlways Delete = "Delete"
	// Orphan leaves it in both cases.
	Orphan Delete = "Orphan"
	// OrphanOnApply leaves it only when it left the set during an apply.
	OrphanOnApply Delete = "OrphanOnApply"
	// OrphanOnDelete leaves it only when the whole set is deleted.
	OrphanOnDelete Delete = "OrphanOnDelete"
)

// Keeps reports whether an object stays in the cluster: when the whole set is
// deleted, or else when it left the set.
func (d Delete) Keeps(whole bool) bool {
	return d == Orphan || d == OrphanOnDelete && whole || d == OrphanOnApply && !whole
}

// MissingNamespaces decides what happens when an object refers to a namespace
// that does not exist.
type MissingNamespaces string

const (
	// DoNotCreate leaves the namespace missing; the object fails.
	DoNotCreate MissingNamespaces = "DoNotCreate"
	// Create creates the namespace first. It is never removed again. This is
	// the default.
	Create MissingNamespaces = "Create"
)

// Conflict decides what happens when a server-side apply would change a field
// of another manager.
type Conflict string

const (
	// Force takes the field. It is the default.
	Force Conflict = "Force"
	// Fail leaves the object alone and reports the fields and their managers.
	Fail Conflict = "Fail"
)

// Immutable decides what happens when an update changes a field that cannot
// change.
type Immutable string

const (
	// Refuse reports the fields. It is the default.
	Refuse Immutable = "Refuse"
	// RecreateObject deletes the object and creates it again.
	RecreateObject Immutable = "Recreate"
)

// NeverPurge is the purge order of an object that stays.
const NeverPurge = 1 << 15

// Policy is all that may be decided about one object. A zero field inherits.
type Policy struct {
	Adoption  Adoption  `json:"adoption,omitempty"`
	Reconcile Reconcile `json:"reconcile,omitempty"`
	Update    Update    `json:"update,omitempty"`
	Delete    Delete    `json:"delete,omitempty"`
	Conflict  Conflict  `json:"conflict,omitempty"`
	Immutable Immutable `json:"immutable,omitempty"`
	// ApplyOrder is the wave in which the object is applied, from -32768 to
	// 32767, lower first.
	ApplyOrder int `json:"applyOrder,omitempty"`
	// DeleteOrder is the wave in which the object is deleted, lower first.
	DeleteOrder int `json:"deleteOrder,omitempty"`
	// PurgeOrder is the apply wave after which the object is deleted while it
	// is still part of the set; nil means never.
	PurgeOrder *int `json:"purgeOrder,omitempty"`
	// Reapply is the time after which the object is written again although
	// nothing changed; zero means never.
	Reapply time.Duration `json:"reapply,omitempty"`
	// Hints help to tell whether the object is ready; see package health.
	Hints []string `json:"hints,omitempty"`
}

// Or returns p with its zero fields taken from base.
func (p Policy) Or(base Policy) Policy {
	p.Adoption = or(p.Adoption, base.Adoption)
	p.Reconcile = or(p.Reconcile, base.Reconcile)
	p.Update = or(p.Update, base.Update)
	p.Delete = or(p.Delete, base.Delete)
	p.Conflict = or(p.Conflict, base.Conflict)
	p.Immutable = or(p.Immutable, base.Immutable)
	p.ApplyOrder = or(p.ApplyOrder, base.ApplyOrder)
	p.DeleteOrder = or(p.DeleteOrder, base.DeleteOrder)
	p.PurgeOrder = or(p.PurgeOrder, base.PurgeOrder)
	p.Reapply = or(p.Reapply, base.Reapply)
	if p.Hints == nil {
		p.Hints = base.Hints
	}
	return p
}

// DeepCopy returns a copy.
func (p *Policy) DeepCopy() *Policy {
	out := *p
	if p.PurgeOrder != nil {
		out.PurgeOrder = new(*p.PurgeOrder)
	}
	out.Hints = slices.Clone(p.Hints)
	return &out
}

// Equal reports whether two policies say the same.
func (p *Policy) Equal(o *Policy) bool {
	return p.Adoption == o.Adoption && p.Reconcile == o.Reconcile && p.Update == o.Update && p.Delete == o.Delete &&
		p.Conflict == o.Conflict && p.Immutable == o.Immutable && p.Reapply == o.Reapply &&
		p.ApplyOrder == o.ApplyOrder && p.DeleteOrder == o.DeleteOrder &&
		samePurge(p.PurgeOrder, o.PurgeOrder) && slices.Equal(p.Hints, o.Hints)
}

func samePurge(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func or[T comparable](v, base T) T {
	var zero T
	if v == zero {
		return base
	}
	return v
}

// Prune decides when objects that left the set are removed.
type Prune string

const (
	// PruneReady waits until all objects of the set are ready. It is the
	// default.
	PruneReady Prune = "Ready"
	// PruneApplied waits until all objects of the set are written.
	PruneApplied Prune = "Applied"
	// PruneAlways does not wait; what can be applied goes first.
	PruneAlways Prune = "Always"
)

// Check returns an error for a value that is neither empty nor known.
func (p Prune) Check() error {
	return known("prune policy", p, []Prune{PruneReady, PruneApplied, PruneAlways})
}
