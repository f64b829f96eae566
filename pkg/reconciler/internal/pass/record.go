package pass

import (
	"errors"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/internal/field"
	"github.com/weir-dev/weir/pkg/reconciler/internal/look"
	"github.com/weir-dev/weir/pkg/reconciler/internal/set"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// record returns the item with what the set says about its object.
func record(w *set.Want, it inventory.Item) inventory.Item {
	it.Version, it.Policy, it.Types = w.Version, w.Policy, w.Types
	it.Manager, it.Payload = w.Manager, w.Payload
	return it
}

// differs reports whether the set says other things about an object than its
// item does.
func differs(w *set.Want, it *inventory.Item) bool {
	return it.Version != w.Version || it.Manager != w.Manager || !it.Policy.Equal(&w.Policy) ||
		!maps.Equal(it.Payload, w.Payload) || !slices.Equal(it.Types, w.Types)
}

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
	p.memory.set(it.Key, sight{uid: u.GetUID(), version: u.GetResourceVersion(), digest: t.Want.Digest, health: s, message: message})
	return it
}

// purged returns the item of an object that is gone by its purge order.
func (p *pass) purged(it inventory.Item) inventory.Item {
	it.State, it.UID, it.ResourceVersion = inventory.Purged, "", ""
	p.memory.drop(it.Key)
	return it
}

// pin returns the item of an object that is about to be taken from another
// owner, as it was found. Should the other take it back, that can be told even
// if nothing is recorded after the write.
func pin(t *look.Target, it inventory.Item) inventory.Item {
	if it.Digest != t.Want.Digest {
		it.Takeovers = 0
	}
	it.Takeovers++
	it.State, it.Digest = inventory.Intended, t.Want.Digest
	it.UID, it.ResourceVersion = t.Live.GetUID(), t.Live.GetResourceVersion()
	return it
}

// unpin undoes a pin, once the server has refused the write.
func unpin(it inventory.Item) inventory.Item {
	it.Takeovers--
	it.UID, it.ResourceVersion = "", ""
	return it
}

// pinned reports whether the item pins the object as it was found.
func pinned(t *look.Target, it *inventory.Item) bool {
	return it.Pinned() && it.Digest == t.Want.Digest &&
		it.UID == t.Live.GetUID() && it.ResourceVersion == t.Live.GetResourceVersion()
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

// equal reports whether two items are the same but for their resource version.
func equal(a, b *inventory.Item) bool {
	return a.Key == b.Key && a.Version == b.Version && a.UID == b.UID && a.State == b.State &&
		sameWrite(a, b) && a.Policy.Equal(&b.Policy) &&
		a.Manager == b.Manager && maps.Equal(a.Payload, b.Payload) && slices.Equal(a.Types, b.Types)
}

func sameWrite(a, b *inventory.Item) bool {
	return a.Created == b.Created && a.Digest == b.Digest && a.Owned == b.Owned &&
		a.At.Equal(&b.At) && a.Takeovers == b.Takeovers
}

func as[T error](err error, to *T) bool { return errors.As(err, to) }
