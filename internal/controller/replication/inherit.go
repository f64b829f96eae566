package replication

import (
	"context"

	"github.com/weir-dev/weir/internal/controller/heritage"
	"github.com/weir-dev/weir/internal/controller/record"
)

// inherit takes over what Capsule recorded of the targets, or what is left of
// our own record where the inventory got lost. Until the inventory is written
// the items stay in the status, so there is always one of the two.
func (r *run) inherit(context.Context) error {
	if len(r.status.Inventory) > 0 {
		return nil
	}
	v := heritage.Inventory(r.id(), r.spec, r.status.ProcessedItems)
	var err error
	r.status.Inventory, err = record.Data(v)
	return err
}
