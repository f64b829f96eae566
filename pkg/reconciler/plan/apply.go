package plan

import (
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// rule returns what to do, or nil when it has nothing to say.
type rule func(*Facts) *Outcome

// applying is the policy of an apply: the first rule that answers decides.
var applying = []rule{
	purged, purging, untyped, terminating, rejected, paused, absent,
	owned, gated, due, settled,
}

// Apply decides what happens to an object of the set. The error of the outcome
// is set when the object is refused.
func Apply(f Facts) Outcome { return first(applying, f) }

func first(rules []rule, f Facts) Outcome {
	for _, r := range rules {
		o := r(&f)
		if o == nil {
			continue
		}
		o.Key, o.Version, o.Digest, o.Wave = f.Key, f.Version, f.Digest, f.Wave
		o.Pre = Precondition{Absent: true}
		if f.Live != nil {
			o.Pre = Precondition{UID: f.Live.UID, ResourceVersion: f.Live.ResourceVersion}
			o.Health = f.Live.Health
		}
		o.Writes = writes(&f, o.Verb)
		return *o
	}
	return Outcome{Action: Action{Key: f.Key, Verb: None}}
}

// writes returns how many writes a verb costs at most.
func writes(f *Facts, v Verb) int {
	switch {
	case !v.Writes():
		return 0
	case v == Recreate, v == Purge && f.DefinesTypes(), v == Delete && f.DefinesTypes():
		return 2
	case (v == Adopt || v == Update) && (f.Policy.Update == policy.SsaOverride || f.Live.Share.Former):
		return 2
	}
	return 1
}

func answer(v Verb, reasons ...Reason) *Outcome {
	return &Outcome{Action: Action{Verb: v, Reasons: reasons}}
}

func refuse(err error, reasons ...Reason) *Outcome {
	return &Outcome{Action: Action{Verb: Refuse, Reasons: reasons}, Err: err}
}

func (o *Outcome) because(message string) *Outcome {
	o.Message = message
	return o
}

func purged(f *Facts) *Outcome {
	if f.Item.State == inventory.Purged && f.Item.Digest == f.Digest {
		return answer(None, Completed)
	}
	return nil
}

// purging finishes a purge that has begun, unless the manifest changed.
func purging(f *Facts) *Outcome {
	if f.Item.State != inventory.Purging || f.Item.Digest != f.Digest {
		return nil
	}
	switch {
	case f.Live == nil:
		return answer(None, Completed)
	case f.Live.Terminating:
		return answer(Wait, Terminating)
	case f.Live.UID != f.Item.UID:
		return nil
	case !f.Shared && !f.Live.Owner.Ours:
		return answer(None, Completed, OwnerConflict)
	}
	return answer(Purge, PurgeDue)
}

func untyped(f *Facts) *Outcome {
	if f.Untyped {
		return answer(Wait, TypeUnknown)
	}
	return nil
}

// terminating lets no write reach an object that goes away, except for one
// that takes our finalizer off a kind that somebody deleted.
func terminating(f *Facts) *Outcome {
	switch {
	case f.Live == nil || !f.Live.Terminating:
		return nil
	case f.Live.Finalizer && f.DefinesTypes() && f.ours():
		return answer(Finalize, Terminating)
	}
	return answer(Wait, Terminating)
}

func rejected(f *Facts) *Outcome {
	if f.Live != nil && f.Live.Directive.Reject {
		reason := f.Live.Directive.Reason
		return refuse(&fault.Rejected{Key: f.Key, Reason: reason}, Rejected)
	}
	return nil
}

func paused(f *Facts) *Outcome {
	if f.Live != nil && f.Live.Directive.SkipApply {
		return answer(Skip, Paused).because(f.Live.Directive.Reason)
	}
	return nil
}

func absent(f *Facts) *Outcome {
	if f.Live != nil {
		return nil
	}
	switch f.Place {
	case PlaceTerminating:
		return answer(Wait, NamespaceTerminating)
	case PlacePending:
		return answer(Wait, DependencyPending)
	case PlaceMissing:
		return refuse(&fault.NamespaceMissing{Key: f.Key}, NamespaceMissing)
	default:
	}
	if o := gated(f); o != nil {
		return o
	}
	if f.Place == PlaceCreate {
		return answer(Create, NotFound, NamespaceMissing)
	}
	return answer(Create, NotFound)
}

// ours reports whether the object is this owner's, or was until its label was
// taken off.
func (f *Facts) ours() bool {
	if f.Shared {
		return f.Live.Share.Ours || f.Item.State.Written() && f.Item.UID == f.Live.UID
	}
	return f.Live.Owner.Ours || f.Live.Owner.Lost && f.Item.State.Written() && f.Item.UID == f.Live.UID
}

// Identified returns the item with the incarnation that it means. One that comes
// from another program may name none, and then means the one that a manager of
// ours is on.
func (f *Facts) Identified() inventory.Item {
	it := f.Item
	if it.State.Written() && it.UID == "" && f.Live != nil && f.Live.Share.Ours {
		it.UID = f.Live.UID
	}
	return it
}

// Created reports whether the family created the live object. It did so too if
// our former manager is on an object that was never recorded, under a policy by
// which it could not have adopted it.
func (f *Facts) Created() bool {
	s := &f.Live.Share
	return s.Created || f.Item.Created && f.Item.UID == f.Live.UID ||
		s.Former && !f.Item.State.Written() && f.Policy.Adoption == policy.AdoptNever
}

// owned adopts, or refuses to touch, what is not ours.
func owned(f *Facts) *Outcome {
	if f.ours() {
		return nil
	}
	if f.Policy.Reconcile == policy.Once && f.Item.State.Written() && f.Item.UID == f.Live.UID {
		return answer(None) // never touched again, whoever has it now
	}
	if f.Shared {
		return share(f)
	}
	owner := f.Live.Owner.Name
	switch {
	case f.Policy.Adoption == policy.AdoptNever, owner != "" && f.Policy.Adoption != policy.AdoptAlways:
		return refuse(&fault.OwnerConflict{Key: f.Key, Owner: owner}, OwnerConflict)
	case owner != "" && f.fought():
		return refuse(&fault.OwnerConflict{Key: f.Key, Owner: owner, Fight: true}, Fight)
	}
	if o := gated(f); o != nil {
		return o
	}
	verb := Adopt
	if f.update() == policy.Recreate {
		verb = Recreate
	}
	if owner != "" {
		return answer(verb, TakenOver)
	}
	return answer(verb, Unowned)
}

// fought reports whether the object was taken over once under this manifest.
// A takeover is recorded before it is done; while the object still is as it was
// then, it was not done.
func (f *Facts) fought() bool {
	if f.Item.Takeovers == 0 || f.Item.Digest != f.Digest {
		return false
	}
	return !f.Item.Pinned() || f.Item.UID != f.Live.UID || f.Item.ResourceVersion != f.Live.ResourceVersion
}

// share joins the owners of an object. Whether that is allowed matters only
// once content may be written.
func share(f *Facts) *Outcome {
	if o := gated(f); o != nil {
		return o
	}
	if !f.Live.Share.Created && f.Policy.Adoption == policy.AdoptNever {
		return refuse(&fault.OwnerConflict{Key: f.Key}, OwnerConflict)
	}
	if f.Live.Share.Peers {
		return answer(Adopt, Shared)
	}
	return answer(Adopt, Unowned)
}

// gated leaves the content alone while the gate is closed, and keeps the marks
// right.
func gated(f *Facts) *Outcome {
	switch {
	case f.Gate.Err != nil:
		o := refuse(f.Gate.Err, GateFailed)
		return o
	case !f.Gate.Closed:
		return nil
	case f.Live != nil && f.Shared && f.ours() && !f.Live.Share.Marked:
		return answer(Restamp, ConditionFalse, MarkChanged).because(f.Gate.Reason)
	}
	return answer(Skip, ConditionFalse).because(f.Gate.Reason)
}

// due writes an object of ours when there is a reason to.
func due(f *Facts) *Outcome {
	reasons := f.reasons()
	if len(reasons) == 0 {
		return nil
	}
	if f.recorded(reasons) {
		return answer(None, NotRecorded)
	}
	if f.update() == policy.Recreate {
		if len(reasons) == 1 && reasons[0] == StampLost {
			return answer(Restamp, StampLost)
		}
		return answer(Recreate, reasons...)
	}
	return answer(Update, reasons...)
}

func (f *Facts) update() policy.Update {
	if u := f.Live.Directive.Update; u != "" {
		return u
	}
	return f.Policy.Update
}

// recorded reports whether the write was done before and only its record was
// lost, by a crash or together with the inventory.
func (f *Facts) recorded(reasons []Reason) bool {
	if f.Shared || !f.Live.Contains || !f.Live.Owner.Intact || f.Live.Owner.Digest != f.Digest {
		return false
	}
	for _, r := range reasons {
		switch r {
		case NotRecorded, DigestChanged, UIDChanged:
		default:
			return false
		}
	}
	return true
}

// reasons returns why an object of ours is to be written.
func (f *Facts) reasons() []Reason {
	written := f.Item.State.Written()
	if f.Policy.Reconcile == policy.Once && written && f.Item.Digest == f.Digest {
		return nil
	}
	var rs []Reason
	add := func(when bool, r Reason) {
		if when {
			rs = append(rs, r)
		}
	}
	add(!written, NotRecorded)
	add(written && f.Item.Digest != f.Digest, changed(f.Item.Digest, f.Digest))
	add(written && f.Item.UID != f.Live.UID, UIDChanged)
	add(!f.Shared && !f.Live.Owner.Intact, StampLost)
	if written && f.Item.Digest == f.Digest {
		rs = append(rs, f.drift()...)
	}
	add(f.Live.Reclaimable && f.update() == policy.SsaOverride || f.Live.Share.Former, FieldsForeign)
	add(f.reapply(), ReapplyDue)
	add(f.Shared && (!f.Live.Share.Marked || f.Live.Share.Unclaimed) && len(rs) == 0, MarkChanged)
	return rs
}

func (f *Facts) reapply() bool {
	return f.Policy.Reapply > 0 && f.Policy.Reconcile != policy.Once && f.Item.At.Add(f.Policy.Reapply).Before(f.Now)
}

// drift compares our fields with those of the last write. A lost stamp, which
// is among them, is not told twice.
func (f *Facts) drift() []Reason {
	was, is := f.Item.Owned, f.Live.Owned
	switch {
	case values(was) != values(is) && (f.Shared || f.Live.Owner.Intact):
		return []Reason{FieldsDrifted}
	case values(was) == values(is) && len(was) == len(is) && was != is:
		return []Reason{OwnershipLost} // only hashes of applies speak of ownership
	}
	return nil
}

func values(owned string) string { return owned[:min(16, len(owned))] }

// changed tells a change of the manifest from one of the owner's digest.
func changed(old, now string) Reason {
	if len(old) > 32 && len(now) > 32 && old[:32] == now[:32] {
		return ComponentChanged
	}
	return DigestChanged
}

func settled(f *Facts) *Outcome { return Settled(f.Key, f.Live.Health, f.Live.Message) }

// Settled is the outcome of an object that needs no write.
func Settled(k object.Key, s health.Status, message string) *Outcome {
	o := &Outcome{}
	switch s {
	case health.Current:
		o = answer(None)
	case health.Failed:
		o = &Outcome{Action: Action{Verb: Wait, Reasons: []Reason{Unhealthy}}, Err: &fault.Unhealthy{Key: k, Message: message}}
	default:
		o = answer(Wait, NotReady).because(message)
	}
	o.Key, o.Health = k, s
	return o
}
