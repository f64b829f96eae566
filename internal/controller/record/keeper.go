// Package record keeps the records of replications: the inventory of the object
// reconciler, and all items that a status shows. A small record is in the status
// itself, as compressed bytes and items; one that outgrows a budget of bytes is
// in shards, ConfigMaps in the controller's namespace, and the status has an
// excerpt of it. What is about to be written to targets is recorded at once;
// what was written, at the end of a pass.
package record

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/item"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/shard"
)

// budget is how many bytes of a status a record may take. An API server takes
// objects of 1.5 MiB, of which the spec is part too.
const budget = 512 << 10

// Store stores the records that are in shards.
type Store interface {
	inventory.Store
	// Owners returns all that have one.
	Owners(context.Context) ([]string, error)
	// Remove removes what is stored for an owner, whatever it is.
	Remove(ctx context.Context, owner string) error
}

// Keeper keeps the records of all replications. There is one for a process.
type Keeper struct {
	Store Store
	// Namespace is where the store has its shards.
	Namespace string
	// Bytes is how many of a status a record may take; zero means 512 KiB.
	Bytes int
}

// NewKeeper returns a keeper with shards in a namespace. The client acts as the
// controller and reads from the API server.
func NewKeeper(c client.Client, namespace string) *Keeper {
	return &Keeper{Namespace: namespace, Store: &shard.Store{
		Client: c, Namespace: namespace, Prefix: "weir-record", Decorate: decorate,
	}}
}

// Has reports whether a replication has a record, which it must not go without.
// Items that were applied are one: others keep no inventory beside them.
func Has(s *v1beta2.ReplicationStatus) bool {
	return len(s.Inventory) > 0 || s.Shards != nil || slices.ContainsFunc(s.ProcessedItems, func(p v1beta2.ProcessedItem) bool {
		return p.Status.Created || p.Status.LastApply != nil
	})
}

// Open returns the record of a replication for one pass, which is the time for
// which the status stays the same object. Former returns the inventory of one
// that has none.
func (k *Keeper) Open(o Owner, status *v1beta2.ReplicationStatus, w Writer, former func() inventory.Inventory) *Record {
	return &Record{keeper: k, owner: o, status: status, writer: w, former: former}
}

func (k *Keeper) bytes() int {
	if k.Bytes == 0 {
		return budget
	}
	return k.Bytes
}

// fits returns an inventory as a status has it, and whether that and the items
// are within the budget. A record that is in shards returns to the status when
// half of it is enough, so that none moves at every failure.
func (k *Keeper) fits(v inventory.Inventory, items []v1beta2.ProcessedItem, sharded bool) ([]byte, bool, error) {
	most := k.bytes()
	if sharded {
		most /= 2
	}
	n, size := item.Fit(items, most)
	if n < len(items) {
		return nil, false, nil
	}
	data, err := encode(v)
	return data, size+base64.StdEncoding.EncodedLen(len(data)) <= most, err
}

// Sweep removes the shards of replications that are gone and could not remove
// them. There is one such request at a time.
func (k *Keeper) Sweep(ctx context.Context, gone func(context.Context, Owner) (bool, error)) error {
	owners, err := k.Store.Owners(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range owners {
		o, err := parseOwner(s)
		if err == nil {
			var is bool
			if is, err = gone(ctx, o); err == nil && is {
				err = k.Store.Remove(ctx, s)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweeping the record of %s: %w", s, err))
		}
	}
	return errors.Join(errs...)
}
