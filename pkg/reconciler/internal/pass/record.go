package pass

import (
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/internal/field"
	"github.com/weir-dev/weir/pkg/reconciler/internal/look"
	"github.com/weir-dev/weir/pkg/reconciler/internal/memory"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// written returns the item of an object whose content was written as stored.
func (p *pass) written(t *look.Target, stored *unstructured.Unstructured, it inventory.Item, created bool) inventory.Item {
	if shared := p.Style.Shared; shared != nil && t.Facts.Item.UID != stored.GetUID() {
		it.Created = created || shared.IsCreated(stored)
	}
	it.UID, it.Digest, it.State = stored.GetUID(), t.Want.Digest, inventory.Applied
	it.At = metav1.NewTime(p.now.Truncate(1e9))
	it.Owned = field.Owned(t.Body, stored, t.Manager, t.Applied)
	return p.sighted(t, stored, it)
}

// found returns the item of an object that was read and not written.
func (p *pass) found(t *look.Target, o plan.Outcome, it inventory.Item) inventory.Item {
	switch {
	case has(o, plan.Completed):
		return p.purged(it)
	case has(o, plan.NotRecorded):
		return p.written(t, t.Live, it, false)
	case t.Live == nil:
		return it
	case o.Verb == plan.None, o.Verb == plan.Wait && !t.Facts.Live.Terminating && t.Facts.Live.Owned == it.Owned:
		return p.sighted(t, t.Live, it)
	}
	return it
}

// sighted notes that an object is as wanted at its present version.
func (p *pass) sighted(t *look.Target, u *unstructured.Unstructured, it inventory.Item) inventory.Item {
	s, message := p.Style.Health.Analyze(u, t.Want.Policy.Hints)
	// A recorded version is one at which the object was ready.
	it.ResourceVersion = ""
	if s == health.Current {
		it.ResourceVersion = u.GetResourceVersion()
		if it.State == inventory.Applied {
			it.State = inventory.Ready
		}
	}
	p.memory.Set(it.Key, memory.Sight{
		UID: u.GetUID(), Version: u.GetResourceVersion(), Digest: t.Want.Digest, Health: s, Message: message,
	})
	return it
}

// purged returns the item of an object that is gone by its purge order.
func (p *pass) purged(it inventory.Item) inventory.Item {
	it.State, it.UID, it.ResourceVersion = inventory.Purged, "", ""
	p.memory.Drop(it.Key)
	return it
}

// takeovers returns the count after a write. An object that was created, or
// that nobody had, starts anew, unless it was deleted to be taken over.
func takeovers(t *look.Target, d *done) int {
	swapped := t.Facts.Item.Pinned() && t.Facts.Item.Digest == t.Want.Digest
	if d.Verb == plan.Update || d.Verb == plan.Restamp || has(d.Outcome, plan.TakenOver) || swapped {
		return d.item.Takeovers
	}
	return 0
}

func has(o plan.Outcome, r plan.Reason) bool { return slices.Contains(o.Reasons, r) }

// orBody returns the live object, or what would be created.
func orBody(t *look.Target) *unstructured.Unstructured {
	if t.Live != nil {
		return t.Live
	}
	return t.Body
}

func as[T error](err error, to *T) bool { return errors.As(err, to) }
