// Package record keeps the inventory of an object in a field of its status, as
// compressed bytes. What is about to be written to targets is recorded at once;
// what was written, with the rest of the status at the end of a pass.
package record

import (
	"context"
	"fmt"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
)

// Open returns the inventory in a field, which may be empty.
func Open(data []byte) (inventory.Inventory, error) {
	if len(data) == 0 {
		return inventory.Inventory{}, nil
	}
	items, err := inventory.Decode(data)
	return inventory.New("", items), err
}

// Data returns the field for an inventory: nothing for an empty one.
func Data(v inventory.Inventory) ([]byte, error) {
	if len(v.Items) == 0 {
		return nil, nil
	}
	data, err := inventory.Encode(v.Items)
	if err != nil {
		return nil, fmt.Errorf("encoding the inventory: %w", err)
	}
	return data, nil
}

// Store is a store of one object in one pass. It leaves the last commit of the
// pass to the caller, who finds the inventory in the result.
type Store struct {
	// Data is the field.
	Data *[]byte
	// Write writes the status, if it still is the one that the pass has seen.
	Write func(context.Context) error
	// Err is the error of the last commit. With it the pass has done nothing
	// that is not recorded, and its result says nothing.
	Err error
}

var _ inventory.Store = (*Store)(nil)

// Load implements [inventory.Store].
func (s *Store) Load(context.Context, string) (inventory.Inventory, error) { return Open(*s.Data) }

// Commit implements [inventory.Store].
func (s *Store) Commit(ctx context.Context, _ string, c inventory.Change) (string, error) {
	if !c.Ahead {
		return c.Base.Version, nil
	}
	var data []byte
	if data, s.Err = Data(c.Next); s.Err != nil {
		return "", s.Err
	}
	*s.Data = data
	s.Err = s.Write(ctx)
	return c.Base.Version, s.Err
}
