package shard

import (
	"context"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
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
	w := &writer{store: s, owner: owner, old: st, revision: st.revision + 1}
	next, err := w.split(c.Next.Items)
	if err != nil {
		return "", err
	}
	if err := w.run(ctx, next); err != nil {
		s.remember(owner, nil)
		return "", fmt.Errorf("writing the inventory of owner %q: %w", owner, conflict(err))
	}
	if !w.wrote {
		w.revision = st.revision
	}
	now := &state{revision: w.revision, count: w.count, shards: w.done}
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
	data  []byte // nil if it is stored
}

// writer writes one commit.
type writer struct {
	store    *Store
	owner    string
	old      *state
	revision int
	count    int // of shards, by split
	total    int // of items, by split
	done     map[int]*shard
	wrote    bool
}

// split distributes the items over at least as many shards as there are, as
// many as keep each below the limit.
func (w *writer) split(items []inventory.Item) ([]part, error) {
	limit := w.store.MaxBytes
	if limit <= 0 {
		limit = maxBytes
	}
	w.count, w.total = w.old.count, len(items)
	if len(items) == 0 {
		w.count = 1
	}
	for ; ; w.count *= 2 {
		parts := make([]part, w.count)
		for _, it := range items {
			i := index(it.Key, w.count)
			parts[i].items = append(parts[i].items, it)
		}
		fits := true
		for i := range parts {
			if w.same(i, parts[i].items) {
				continue // it fitted before
			}
			data, err := inventory.Encode(parts[i].items)
			if err != nil {
				return nil, err
			}
			parts[i].data = data
			fits = fits && len(data) <= limit
		}
		if fits || 2*w.count > maxShards {
			return parts, nil
		}
	}
}

func (w *writer) run(ctx context.Context, next []part) error {
	w.done = map[int]*shard{}
	var changed []int
	for i := range next {
		if next[i].data != nil {
			changed = append(changed, i)
		} else if old := w.old.shards[i]; old != nil {
			w.done[i] = old
		}
	}
	if w.inPlace(next, changed) {
		for _, i := range changed {
			return w.put(ctx, i, next[i].items, next[i].data)
		}
		return nil
	}
	var later []int
	for _, i := range changed {
		all, grown := w.union(i, next[i].items)
		switch {
		case i == 0:
			continue // the head
		case grown:
			later = append(later, i)
			if err := w.put(ctx, i, all, nil); err != nil {
				return err
			}
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

// inPlace reports whether a commit can be written to one shard at most, whose
// own version then decides a race: the items are the same ones, and nothing is
// left of a commit that was cut short.
func (w *writer) inPlace(next []part, changed []int) bool {
	if len(w.old.shards) == 0 {
		return w.total == 0
	}
	if w.old.shards[0] == nil || w.total == 0 || w.count != w.old.count || len(changed) > 1 {
		return false
	}
	for i := range w.old.shards {
		if i >= w.count {
			return false
		}
	}
	for _, i := range changed {
		old := w.old.shards[i]
		if old == nil || !slices.EqualFunc(old.items, next[i].items, func(a, b inventory.Item) bool { return a.Key == b.Key }) {
			return false
		}
	}
	return true
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
// no head; the old one is deleted last, and says meanwhile that it is empty.
func (w *writer) head(ctx context.Context, next []part) error {
	if w.empty(next) && len(w.old.shards) < 2 {
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
		notes[countNote], notes[itemsNote] = strconv.Itoa(w.count), strconv.Itoa(w.total)
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
	delete(u.Object, "binaryData")
	w.done[i], w.wrote = &shard{object: u, items: items}, true
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
	head := w.old.shards[0]
	if w.done[0] != nil {
		head = w.done[0]
	}
	if head == nil || w.total > 0 {
		return nil
	}
	delete(w.done, 0)
	return w.remove(ctx, head)
}

func (w *writer) remove(ctx context.Context, sh *shard) error {
	w.wrote = true
	return w.store.drop(ctx, sh.object)
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
