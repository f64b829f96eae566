// Package inventory is the memory of what an owner manages: which objects, in
// which incarnation and with what to do in the end. An inventory is written
// ahead of the objects themselves, so that no crash leaves one untracked. The
// package stores inventories in memory and in a field of the caller's; package
// shard stores them in ConfigMaps.
package inventory

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// State is how far an item has come.
type State string

const (
	// Intended is an object that may be about to be created or adopted.
	Intended State = "Intended"
	// Applied is an object that was written and is not ready yet.
	Applied State = "Applied"
	// Ready is an object that was written and is ready.
	Ready State = "Ready"
	// Purging is an object of the set that is being deleted by its purge order.
	Purging State = "Purging"
	// Purged is an object of the set that was deleted by its purge order.
	Purged State = "Purged"
	// Leaving is an object that is no longer wanted and not gone yet.
	Leaving State = "Leaving"
)

// Written reports whether the object was ever written under this item.
func (s State) Written() bool { return s != "" && s != Intended }

// Item is one object of an inventory.
type Item struct {
	object.Key `json:",inline"`

	Version string `json:"version"`
	// UID is the incarnation that was written; empty before the first write.
	UID types.UID `json:"uid,omitempty"`
	// ResourceVersion is the one at which State, Owned and UID were seen. It
	// may be behind the object's; it is never committed for its own sake.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	State           State  `json:"state"`
	// Created says that shared owners created the object rather than adopted it.
	// It is not kept for exclusive owners.
	Created bool `json:"created,omitempty"`
	// Digest is that of the last manifest that was written.
	Digest string `json:"digest,omitempty"`
	// Owned is a hash of our fields as the server returned them.
	Owned string `json:"owned,omitempty"`
	// Policy is the last known one; it decides what happens in the end.
	Policy policy.Policy `json:"policy"`
	// At is the time of the last write of content, in whole seconds.
	At metav1.Time `json:"at,omitzero"`
	// Takeovers counts how often the object was taken from another owner under
	// the present digest, one that is about to be taken included.
	Takeovers int `json:"takeovers,omitempty"`
	// Types are the kinds that the object defines.
	Types []policy.Type `json:"types,omitempty"`
	// Manager is the field manager, if not that of the owner.
	Manager string `json:"manager,omitempty"`
	// Payload is opaque to the reconciler; see reconciler.Object.
	Payload map[string]string `json:"payload,omitempty"`
}

// Pinned reports whether the object is about to be taken over, in the
// incarnation and version that the item names.
func (it *Item) Pinned() bool {
	return it.State == Intended && it.UID != "" && it.Takeovers > 0
}

// Holds reports whether an object of that key would go with the object of the
// item: it is inside a Namespace, or of a kind that is defined.
func (it *Item) Holds(k object.Key) bool {
	switch {
	case it.Key == k:
		return false
	case it.IsNamespace():
		return k.Namespace == it.Name
	}
	return slices.ContainsFunc(it.Types, func(t policy.Type) bool { return t.Matches(k.GroupKind()) })
}

// DeepCopyInto copies the item into another, for status types that hold items.
func (it *Item) DeepCopyInto(out *Item) {
	*out = *it
	out.Policy = *it.Policy.DeepCopy()
	out.Types = slices.Clone(it.Types)
	out.Payload = maps.Clone(it.Payload)
}

// DeepCopy returns a copy.
func (it *Item) DeepCopy() *Item {
	out := new(Item)
	it.DeepCopyInto(out)
	return out
}

// Inventory is a set of items. It is a value: an operation returns a new one.
type Inventory struct {
	// Version is the store's mark for compare-and-swap. It is opaque.
	Version string `json:"-"`
	// Items are sorted by key and unique.
	Items []Item `json:"items"`
}

// New returns an inventory of the items, sorted. Of items with equal keys the
// last one stays.
func New(version string, items []Item) Inventory {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b Item) int { return a.Compare(b.Key) })
	out := items[:0]
	for i, it := range items {
		if i+1 < len(items) && items[i+1].Key == it.Key {
			continue
		}
		out = append(out, it)
	}
	return Inventory{Version: version, Items: out}
}

// Find returns the item with that key, and false when there is none.
func (v Inventory) Find(k object.Key) (Item, bool) {
	i, ok := slices.BinarySearchFunc(v.Items, k, func(it Item, k object.Key) int { return it.Compare(k) })
	if !ok {
		return Item{}, false
	}
	return v.Items[i], true
}
