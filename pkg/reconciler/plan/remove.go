package plan

import (
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
)

// removing is the policy of what goes: the first rule that answers decides.
var removing = []rule{
	gone, foreign, going, denied, kept, blocked, remove,
}

// Remove decides what happens to an object that is no longer wanted.
func Remove(f Facts) Outcome { return first(removing, f) }

// why is the reason for which the object goes.
func (f *Facts) why() Reason {
	if f.Whole {
		return SetDeleted
	}
	return NotInSet
}

func gone(f *Facts) *Outcome {
	switch {
	case f.Live == nil, f.Untyped, f.Item.State == inventory.Purged && !f.ours():
		return answer(Forget, f.why(), NotFound)
	}
	return nil
}

// foreign forgets what is no longer ours, or never was.
func foreign(f *Facts) *Outcome {
	if f.ours() {
		return nil
	}
	return answer(Forget, f.why(), OwnerConflict)
}

func going(f *Facts) *Outcome {
	switch {
	case !f.Live.Terminating:
		return nil
	case f.Live.Finalizer && f.DefinesTypes() && f.Content.Count == 0 && !f.Content.Pending:
		return answer(Finalize, f.why(), Terminating)
	}
	return answer(Wait, f.why(), Terminating)
}

// denied does what the live object itself asks for.
func denied(f *Facts) *Outcome {
	d := f.Live.Directive
	switch {
	case d.Reject, d.RejectDelete:
		return refuse(&fault.Rejected{Key: f.Key, Reason: d.Reason}, f.why(), Rejected)
	case d.HandOver:
		return answer(Forget, f.why(), HandedOver).because(d.Reason)
	case d.Keep:
		return answer(Release, f.why(), KeptByDirective).because(d.Reason)
	case d.SkipDelete:
		return answer(Skip, f.why(), Paused).because(d.Reason)
	}
	return nil
}

func kept(f *Facts) *Outcome {
	switch {
	case f.Content.Kept && !f.Released:
		return answer(Release, f.why(), KeptContent)
	case f.Released, f.Policy.Delete.Keeps(f.Whole):
		return answer(Release, f.why(), KeptByPolicy)
	case f.Shared && !f.Created():
		return answer(Leave, f.why())
	case f.Shared && f.Live.Share.Peers:
		return answer(Leave, f.why(), Shared)
	}
	return nil
}

func blocked(f *Facts) *Outcome {
	switch {
	case f.Content.Pending:
		return answer(Wait, f.why(), DependencyPending)
	case f.Content.Count == 0:
		return nil
	}
	err := &fault.Blocked{Key: f.Key, Count: f.Content.Count, By: f.Content.Name}
	return refuse(err, f.why(), InUse)
}

func remove(f *Facts) *Outcome { return answer(Delete, f.why()) }
