package shard

import (
	"context"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Commit implements [inventory.Store]. What is new is written before the head,
// and what goes is removed after it, so that a commit that is cut short leaves
// too many items and never too few.
func (s *Store) Commit(ctx context.Context, owner string, c inventory.Change) (string, error) {
	st := s.recall(owner)
	if st == nil {
		var err error
		if st, err = s.read(ctx, owner); err != nil {
			return "", err
		}
	}
	if st.inv.Version != version(c.Base) {
		s.remember(owner, nil)
		return "", inventory.ErrConflict
	}
	next, err := s.split(st.count, c.Next.Items)
	if err != nil {
		return "", err
	}
	w := &writer{store: s, owner: owner, old: st, revision: st.revision + 1, count: len(next)}
	if err := w.run(ctx, next); err != nil {
		s.remember(owner, nil)
		return "", fmt.Errorf("writing the inventory of owner %q: %w", owner, conflict(err))
	}
	now := &state{revision: w.revision, count: len(next), shards: w.done}
	now.inv = inventory.New(strconv.Itoa(w.revision), c.Next.Items)
	s.remember(owner, now)
	if len(c.Next.Items) == 0 {
		return "0", nil
	}
	return now.inv.Version, nil
}

// version is that of an inventory that may never have been stored.
func version(v inventory.Inventory) string {
	if v.Version == "" {
		return "0"
	}
	return v.Version
}

// part is the content of one shard.
type part struct {
	items []inventory.Item
	data  []byte
}

// split distributes the items over at least count shards, as many as keep each
// below the limit.
func (s *Store) split(count int, items []inventory.Item) ([]part, error) {
	limit := s.MaxBytes
	if limit <= 0 {
		limit = maxBytes
	}
	if len(items) == 0 {
		count = 1
	}
	for ; ; count *= 2 {
		parts := make([]part, count)
		for _, it := range items {
			i := index(it.Key, count)
			parts[i].items = append(parts[i].items, it)
		}
		fits := true
		for i := range parts {
			data, err := inventory.Encode(parts[i].items)
			if err != nil {
				return nil, err
			}
			parts[i].data = data
			fits = fits && len(data) <= limit
		}
		if fits || 2*count > maxShards {
			return parts, nil
		}
	}
}

// writer writes one commit.
type writer struct {
	store    *Store
	owner    string
	old      *state
	revision int
	count    int
	done     map[int]*shard
}

func (w *writer) run(ctx context.Context, next []part) error {
	w.done = map[int]*shard{}
	var later []int
	for i := 1; i < len(next); i++ {
		all, grown := w.union(i, next[i].items)
		switch {
		case w.same(i, next[i].items):
			if old := w.old.shards[i]; old != nil {
				w.done[i] = old
			}
		case grown:
			if err := w.put(ctx, i, all, nil); err != nil {
				return err
			}
			later = append(later, i)
		default:
			if err := w.put(ctx, i, next[i].items, next[i].data); err != nil {
				return err
			}
		}
	}
	if err := w.head(ctx, next); err != nil {
		return err
	}
	for _, i := range later {
		if err := w.put(ctx, i, next[i].items, next[i].data); err != nil {
			return err
		}
	}
	return w.drop(ctx, len(next))
}

// union returns the new items of a shard together with the old ones that are
// about to go, and whether there are any.
func (w *writer) union(i int, items []inventory.Item) ([]inventory.Item, bool) {
	old := w.old.shards[i]
	if old == nil {
		return items, false
	}
	all := inventory.New("", append(slices.Clone(old.items), items...)).Items
	return all, len(all) > len(items)
}

func (w *writer) same(i int, items []inventory.Item) bool {
	old := w.old.shards[i]
	if old == nil {
		return len(items) == 0
	}
	return len(items) > 0 && len(old.items) == len(items) && reflect.DeepEqual(old.items, items)
}

// head writes the shard whose version decides a race. An empty inventory has
// no head; the old one is deleted last.
func (w *writer) head(ctx context.Context, next []part) error {
	if w.empty(next) {
		return nil
	}
	return w.put(ctx, 0, next[0].items, next[0].data)
}

func (w *writer) empty(next []part) bool { return len(next) == 1 && len(next[0].items) == 0 }

// put writes one shard if it still is as it was read, or absent.
func (w *writer) put(ctx context.Context, i int, items []inventory.Item, data []byte) error {
	if data == nil {
		var err error
		if data, err = inventory.Encode(items); err != nil {
			return err
		}
	}
	was := w.done[i]
	if was == nil {
		was = w.old.shards[i]
	}
	u := w.store.fresh(w.owner, i)
	if was != nil {
		u = was.object.DeepCopy()
	}
	notes := u.GetAnnotations()
	notes[versionNote] = strconv.Itoa(w.revision)
	if i == 0 {
		notes[countNote] = strconv.Itoa(w.count)
	}
	u.SetAnnotations(notes)
	u.Object["binaryData"] = map[string]any{dataKey: base64.StdEncoding.EncodeToString(data)}
	var err error
	if was == nil {
		err = w.store.Client.Create(ctx, u)
	} else {
		err = w.store.Client.Update(ctx, u)
	}
	if err != nil {
		return err
	}
	w.done[i] = &shard{object: u, items: items}
	return nil
}

// drop deletes the shards that are no longer used, the head last.
func (w *writer) drop(ctx context.Context, count int) error {
	for i, sh := range w.old.shards {
		if i >= count && i > 0 {
			if err := w.remove(ctx, sh); err != nil {
				return err
			}
		}
	}
	if head := w.old.shards[0]; head != nil && w.done[0] == nil {
		return w.remove(ctx, head)
	}
	return nil
}

func (w *writer) remove(ctx context.Context, sh *shard) error {
	uid, rv := sh.object.GetUID(), sh.object.GetResourceVersion()
	stub := object.KeyOf(sh.object).Stub("v1")
	return client.IgnoreNotFound(w.store.Client.Delete(ctx, stub, client.Preconditions{UID: &uid, ResourceVersion: &rv}))
}

func decode(u *unstructured.Unstructured) ([]inventory.Item, error) {
	text, _, err := unstructured.NestedString(u.Object, "binaryData", dataKey)
	if err != nil || text == "" {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("reading an inventory: %w", err)
	}
	items, err := inventory.Decode(data)
	if err != nil {
		return nil, err
	}
	return inventory.New("", items).Items, nil
}
