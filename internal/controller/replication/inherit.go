package replication

import (
	"github.com/weir-dev/weir/internal/controller/heritage"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
)

// inherited returns what Capsule recorded of the targets, or what is left of
// our own record where the inventory got lost.
func (s *subject) inherited() inventory.Inventory {
	return heritage.Inventory(s.id(), s.spec, s.status.ProcessedItems)
}
