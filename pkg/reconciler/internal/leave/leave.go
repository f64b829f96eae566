// Package leave says in which order objects go that are no longer wanted. It is
// pure.
package leave

import (
	"cmp"
	"slices"

	"github.com/weir-dev/weir/pkg/reconciler/internal/order"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Item is an item that is no longer wanted.
type Item struct {
	inventory.Item

	// Wave is the delete order; that of a container is never below that of
	// what is inside.
	Wave int
	// Managed says that the inventory defines the kind.
	Managed bool
}

// Order returns the items in the order in which they go. Types are those that
// the whole inventory defines.
func Order(items []inventory.Item, types []policy.Type) []Item {
	list := make([]Item, len(items))
	for i := range items {
		l := &list[i]
		l.Item, l.Wave = items[i], items[i].Policy.DeleteOrder
		l.Managed = slices.ContainsFunc(types, func(t policy.Type) bool { return t.Matches(l.GroupKind()) })
		if !l.IsNamespace() && !l.DefinesTypes() {
			continue
		}
		for j := range items {
			if l.Holds(items[j].Key) {
				l.Wave = max(l.Wave, items[j].Policy.DeleteOrder)
			}
		}
	}
	slices.SortFunc(list, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.stage(), b.stage()),
			cmp.Compare(a.rank(), b.rank()), a.Compare(b.Key))
	})
	return list
}

func (l *Item) stage() int {
	if l.Managed {
		return 0
	}
	return 1
}

func (l *Item) rank() int { return order.Remove(l.GroupKind()) }

// Group returns how many items at the beginning of the list, which is not
// empty, go together.
func Group(list []Item) int {
	n := 1
	for n < len(list) && list[n].Wave == list[0].Wave && list[n].Managed == list[0].Managed && list[n].rank() == list[0].rank() {
		n++
	}
	return n
}

// Queue lets items go wave by wave, and objects of kinds that the inventory
// defines before others.
type Queue struct {
	begun   bool
	wave    int
	left    bool // something so far is not gone
	closed  bool // something of an earlier wave is not gone
	managed bool // something of a defined kind in this wave is not gone
}

// Enter returns why an item may not go yet, or nothing.
func (q *Queue) Enter(l *Item) plan.Reason {
	if !q.begun || l.Wave != q.wave {
		q.begun, q.wave, q.closed, q.managed = true, l.Wave, q.left, false
	}
	switch {
	case q.closed:
		return plan.WaveNotReached
	case !l.Managed && q.managed:
		return plan.DependencyPending
	}
	return ""
}

// Pass notes whether an item that entered is gone.
func (q *Queue) Pass(l *Item, gone bool) {
	q.left = q.left || !gone
	q.managed = q.managed || l.Managed && !gone
}

// Empty reports whether everything is gone.
func (q *Queue) Empty() bool { return !q.left }
