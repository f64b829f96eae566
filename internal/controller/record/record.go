package record

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/item"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/shard"
)

// Writer writes the status of a replication, if it still is the one that the
// pass has seen.
type Writer interface {
	// Begin writes it once in a pass, before anything is done.
	Begin(context.Context) error
	// Record writes it whenever it changed.
	Record(context.Context) error
}

// Record is the record of one replication in one pass. It is the store of the
// object reconciler, and leaves the last commit of the pass to [Record.Close].
//
// Status.Shards says where the record is: in the status, unless it has a
// revision. It is set before the first shard is written and until the last one
// is removed, so that shards are never forgotten.
type Record struct {
	keeper *Keeper
	owner  Owner
	status *v1beta2.ReplicationStatus
	writer Writer
	former func() inventory.Inventory

	loaded  bool
	base    inventory.Inventory
	items   []v1beta2.ProcessedItem
	changed bool  // the reconciler has left a commit to Close
	err     error // of the last commit
}

var _ inventory.Store = (*Record)(nil)

// Err is the error of the last commit. With it the pass has done nothing that
// is not recorded, and its result says nothing.
func (r *Record) Err() error { return r.err }

// Items returns all items as they were before the pass. The record was loaded.
func (r *Record) Items() []v1beta2.ProcessedItem { return r.items }

// Load implements [inventory.Store].
func (r *Record) Load(ctx context.Context, _ string) (inventory.Inventory, error) {
	if r.loaded {
		return r.base, nil
	}
	var err error
	r.items = r.status.ProcessedItems
	switch {
	case r.isSharded():
		r.base, r.items, err = r.fetch(ctx)
	case len(r.status.Inventory) > 0:
		r.base, err = open(r.status.Inventory)
	default:
		r.base = r.former()
	}
	r.loaded = err == nil
	return r.base, err
}

func (r *Record) isSharded() bool { return IsSharded(r.status) }

// IsSharded reports whether a record is in shards.
func IsSharded(s *v1beta2.ReplicationStatus) bool { return s.Shards != nil && s.Shards.Revision > 0 }

// fetch reads the shards.
func (r *Record) fetch(ctx context.Context) (inventory.Inventory, []v1beta2.ProcessedItem, error) {
	v, err := r.keeper.Store.Load(ctx, r.owner.String())
	if is, want := revision(v.Version), r.status.Shards.Revision; err == nil && is < want {
		err = fmt.Errorf("%w: it is at revision %d in namespace %s, and was at %d in %s",
			shard.ErrLost, is, r.keeper.Namespace, want, r.status.Shards.Namespace)
	}
	switch {
	case errors.Is(err, shard.ErrLost):
		return v, nil, &fail.Error{Reason: v1beta2.ReasonFailed, Class: fail.Wait, After: lookAgain, Err: fmt.Errorf(
			"status.shards: %w; restore the ConfigMaps, or take status.shards off to go on without them: targets that are no longer wanted stay then", err)}
	case err != nil:
		return v, nil, &fail.Error{Reason: v1beta2.ReasonFailed, Err: fmt.Errorf("status.shards: %w", err)}
	}
	return split(v)
}

// lookAgain is when to look for shards that were lost.
const lookAgain = time.Minute

// revision returns the number that the version of a stored inventory is.
func revision(version string) int64 {
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Commit implements [inventory.Store].
func (r *Record) Commit(ctx context.Context, _ string, c inventory.Change) (string, error) {
	if !c.Ahead {
		r.changed = true
		return c.Base.Version, nil
	}
	next := c.Next
	next.Version, r.err = r.ahead(ctx, c.Next)
	if r.err == nil {
		r.base = next
	}
	return next.Version, r.err
}

// ahead records what is about to be written to targets.
func (r *Record) ahead(ctx context.Context, next inventory.Inventory) (string, error) {
	if r.isSharded() {
		if err := r.writer.Begin(ctx); err != nil {
			return "", err
		}
		return r.shelve(ctx, next, r.items)
	}
	data, fits, err := r.keeper.fits(next, r.status.ProcessedItems, false)
	if err != nil {
		return "", err
	}
	if fits {
		r.status.Inventory = data
		return "", r.writer.Record(ctx)
	}
	version, err := r.move(ctx, next, r.items)
	if err != nil {
		return "", err
	}
	return version, r.writer.Record(ctx)
}

// move brings a record from the status to shards. The status has to be written
// before shards are relied upon.
func (r *Record) move(ctx context.Context, v inventory.Inventory, items []v1beta2.ProcessedItem) (string, error) {
	r.status.Shards = &v1beta2.Shards{Namespace: r.keeper.Namespace}
	if err := r.writer.Record(ctx); err != nil {
		return "", err
	}
	// Of an earlier move that was cut short.
	if err := r.keeper.Store.Remove(ctx, r.owner.String()); err != nil {
		return "", err
	}
	r.base.Version = ""
	return r.shelve(ctx, v, items)
}

// shelve writes the record to shards.
func (r *Record) shelve(ctx context.Context, v inventory.Inventory, items []v1beta2.ProcessedItem) (string, error) {
	joined, err := join(v, items)
	if err != nil {
		return "", err
	}
	change := inventory.Change{Base: inventory.Inventory{Version: r.base.Version}, Next: joined, Ahead: true}
	version, err := r.keeper.Store.Commit(ctx, r.owner.String(), change)
	if err != nil {
		return "", err
	}
	r.status.Shards = &v1beta2.Shards{Namespace: r.keeper.Namespace, Revision: revision(version)}
	r.status.Inventory = nil
	return version, nil
}

// Close records what a pass has come to, and has the status show it. The status
// has to be written afterwards.
func (r *Record) Close(ctx context.Context, v inventory.Inventory, items []v1beta2.ProcessedItem) error {
	data, fits, err := r.keeper.fits(v, items, r.isSharded())
	switch {
	case err != nil:
	case fits:
		r.status.Inventory, r.status.ProcessedItems = data, items
		err = r.clear(ctx)
	case !r.isSharded():
		_, err = r.move(ctx, v, items)
	case r.changed || !equality.Semantic.DeepEqual(r.items, items):
		_, err = r.shelve(ctx, v, items)
	}
	if err != nil {
		return err
	}
	r.status.ProcessedItems = item.Excerpt(items, r.keeper.bytes())
	counts := item.Count(items)
	r.status.Size, r.status.Counts = int64(len(items)), &counts
	return nil
}

// clear removes shards that are not needed any more, once the record is in the
// status.
func (r *Record) clear(ctx context.Context) error {
	if r.status.Shards == nil {
		return nil
	}
	if r.isSharded() {
		r.status.Shards = &v1beta2.Shards{Namespace: r.keeper.Namespace}
		if err := r.writer.Record(ctx); err != nil {
			return err
		}
	}
	if err := r.keeper.Store.Remove(ctx, r.owner.String()); err != nil {
		return err
	}
	r.status.Shards = nil
	return nil
}
