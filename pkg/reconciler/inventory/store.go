package inventory

import (
	"context"
	"errors"
	"strconv"
	"sync"
)

// ErrConflict is returned by a commit when the stored inventory is no longer
// the one that the change started from.
var ErrConflict = errors.New("the inventory changed since it was loaded")

// Change is one commit of an inventory.
type Change struct {
	Base, Next Inventory
	// Ahead says that writes to objects follow, so that the change must be
	// durable when the commit returns. Otherwise it ends a pass, and a store
	// may leave it to the caller who writes a status anyway.
	Ahead bool
}

// Store keeps the inventories of owners. Concurrent use for different owners
// is safe; for one owner, one commit at a time succeeds.
type Store interface {
	// Load returns the inventory of the owner, empty when there is none.
	Load(ctx context.Context, owner string) (Inventory, error)
	// Commit replaces the inventory if it still is c.Base and returns the new
	// version, or an error wrapping [ErrConflict] if it is not. When the new
	// inventory is empty, nothing remains stored.
	Commit(ctx context.Context, owner string, c Change) (version string, err error)
}

// Memory is a store in memory. The zero value is empty.
type Memory struct {
	mu   sync.Mutex
	all  map[string]Inventory
	next int
}

// Load implements [Store].
func (m *Memory) Load(_ context.Context, owner string) (Inventory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[owner], nil
}

// Commit implements [Store].
func (m *Memory) Commit(_ context.Context, owner string, c Change) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[owner].Version != c.Base.Version {
		return "", ErrConflict
	}
	if m.all == nil {
		m.all = map[string]Inventory{}
	}
	m.next++
	if len(c.Next.Items) == 0 {
		delete(m.all, owner)
		return "", nil
	}
	v := New(strconv.Itoa(m.next), c.Next.Items)
	m.all[owner] = v
	return v.Version, nil
}

// Field is a store in a field of an object of the caller's, such as a status.
// It serves one owner. The caller codes the items in its own way; what
// [Encode] returns is one.
type Field struct {
	// Get returns the items and the resource version of the object.
	Get func(ctx context.Context) (items []Item, version string, err error)
	// Set writes the items if the object still has that resource version, and
	// returns the new one. It wraps [ErrConflict] when the object has not.
	Set func(ctx context.Context, version string, items []Item) (string, error)
	// Defer leaves the last commit of a pass to the caller, who finds the items
	// in the result and writes them together with the rest of its status.
	Defer bool
}

// Load implements [Store].
func (f *Field) Load(ctx context.Context, _ string) (Inventory, error) {
	items, version, err := f.Get(ctx)
	if err != nil {
		return Inventory{}, err
	}
	return New(version, items), nil
}

// Commit implements [Store].
func (f *Field) Commit(ctx context.Context, _ string, c Change) (string, error) {
	if f.Defer && !c.Ahead {
		return c.Base.Version, nil
	}
	return f.Set(ctx, c.Base.Version, c.Next.Items)
}
