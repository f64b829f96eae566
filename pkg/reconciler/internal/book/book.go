// Package book is what a pass records: an inventory that changes item by item.
// It is pure, and stores nothing.
package book

import (
	"iter"
	"maps"
	"slices"

	"github.com/weir-dev/weir/pkg/reconciler/internal/look"
	"github.com/weir-dev/weir/pkg/reconciler/internal/set"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Book holds the items of a pass. Those that did not change are shared with the
// inventory that was loaded.
type Book struct {
	// Base is the inventory as it is stored.
	Base inventory.Inventory
	// Dirty says that the items differ from it.
	Dirty bool

	items map[object.Key]*inventory.Item
}

// Open returns a book of the items of an inventory.
func Open(base inventory.Inventory) *Book {
	b := &Book{Base: base, items: make(map[object.Key]*inventory.Item, len(base.Items))}
	for i := range base.Items {
		b.items[base.Items[i].Key] = &base.Items[i]
	}
	return b
}

// Len returns the number of items.
func (b *Book) Len() int { return len(b.items) }

// All returns the items in no order. They must not be changed.
func (b *Book) All() iter.Seq[*inventory.Item] { return maps.Values(b.items) }

// Has reports whether there is an item.
func (b *Book) Has(k object.Key) bool { return b.items[k] != nil }

// Get returns the item, the zero value when there is none.
func (b *Book) Get(k object.Key) inventory.Item {
	if it := b.items[k]; it != nil {
		return *it
	}
	return inventory.Item{}
}

// Put replaces an item. A moved resource version alone is not worth a commit.
func (b *Book) Put(it inventory.Item) {
	if was := b.items[it.Key]; was == nil || !same(was, &it) {
		b.Dirty = true
	}
	b.items[it.Key] = &it
}

// Drop forgets an item.
func (b *Book) Drop(k object.Key) {
	delete(b.items, k)
	b.Dirty = true
}

// Keep makes an item one that stays in the end.
func (b *Book) Keep(k object.Key) inventory.Item {
	it := b.Get(k)
	it.Policy.Delete = policy.Orphan
	b.Put(it)
	return it
}

// Inventory returns the inventory of the items.
func (b *Book) Inventory() inventory.Inventory {
	if !b.Dirty {
		return b.Base
	}
	items := make([]inventory.Item, 0, len(b.items))
	for _, it := range b.items {
		items = append(items, *it)
	}
	return inventory.New(b.Base.Version, items)
}

// Record returns the item with what the set says about its object.
func Record(w *set.Want, it inventory.Item) inventory.Item {
	it.Version, it.Policy, it.Types = w.Version, w.Policy, w.Types
	it.Manager, it.Payload = w.Manager, w.Payload
	return it
}

// Differs reports whether the set says other things about an object than its
// item does.
func Differs(w *set.Want, it *inventory.Item) bool {
	return it.Version != w.Version || it.Manager != w.Manager || !it.Policy.Equal(&w.Policy) ||
		!maps.Equal(it.Payload, w.Payload) || !slices.Equal(it.Types, w.Types)
}

// same reports whether two items are the same but for their resource version.
func same(a, b *inventory.Item) bool {
	return a.Key == b.Key && a.Version == b.Version && a.UID == b.UID && a.State == b.State &&
		sameWrite(a, b) && a.Policy.Equal(&b.Policy) &&
		a.Manager == b.Manager && maps.Equal(a.Payload, b.Payload) && slices.Equal(a.Types, b.Types)
}

func sameWrite(a, b *inventory.Item) bool {
	return a.Created == b.Created && a.Digest == b.Digest && a.Owned == b.Owned &&
		a.At.Equal(&b.At) && a.Takeovers == b.Takeovers
}

// Pin returns the item of an object that is about to be taken from another
// owner, as it was found. Should the other take it back, that can be told even
// if nothing is recorded after the write.
func Pin(t *look.Target, it inventory.Item) inventory.Item {
	if it.Digest != t.Want.Digest {
		it.Takeovers = 0
	}
	it.Takeovers++
	it.State, it.Digest = inventory.Intended, t.Want.Digest
	it.UID, it.ResourceVersion = t.Live.GetUID(), t.Live.GetResourceVersion()
	return it
}

// Unpin undoes a pin, once the server has refused the write.
func Unpin(it inventory.Item) inventory.Item {
	it.Takeovers--
	it.UID, it.ResourceVersion = "", ""
	return it
}

// Pinned reports whether the item pins the object as it was found.
func Pinned(t *look.Target, it *inventory.Item) bool {
	return it.Pinned() && it.Digest == t.Want.Digest &&
		it.UID == t.Live.GetUID() && it.ResourceVersion == t.Live.GetResourceVersion()
}
