// Package ledger is what a process knows of the objects of generators beyond
// what their statuses say. All of it may be lost: a status names every object
// before it is created, and the rest spares requests and tells a fight over an
// object, which a restart may begin once more.
package ledger

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Ledger has a page for each generator. The zero value is empty; concurrent use
// is safe.
type Ledger struct {
	mu    sync.Mutex
	pages map[types.UID]*page
}

type page struct {
	items map[object.Key]inventory.Item
	told  map[object.Key]*meta.Artifact
	mark  *Mark

	recipe     *recipe.Recipe // of generation
	generation int64
}

// Mark is what a pass that ended well has seen. It does not change.
type Mark struct {
	// Generation is that of the generator, Digest that of its sources.
	Generation int64
	Digest     string
	// Versions are the resource versions at which objects were as wanted. Of
	// those that are on their way out it only says that they are there, by an
	// empty version.
	Versions map[object.Key]string
}

// Same reports whether objects with these versions are as they were.
func (m *Mark) Same(live map[object.Key]string) bool {
	return maps.EqualFunc(m.Versions, live, func(was, is string) bool { return was == "" || was == is })
}

// on calls f with the page of a generator.
func (l *Ledger) on(uid types.UID, f func(*page)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == nil {
		l.pages = map[types.UID]*page{}
	}
	if l.pages[uid] == nil {
		l.pages[uid] = &page{items: map[object.Key]inventory.Item{}}
	}
	f(l.pages[uid])
}

// Mark notes what a pass has seen.
func (l *Ledger) Mark(uid types.UID, m Mark) { l.on(uid, func(p *page) { p.mark = &m }) }

// Marked returns the last mark, nil when there is none.
func (l *Ledger) Marked(uid types.UID) (m *Mark) {
	l.on(uid, func(p *page) { m = p.mark })
	return m
}

// Keys returns the keys of what is known of a generator's objects, in no order.
func (l *Ledger) Keys(uid types.UID) (keys []object.Key) {
	l.on(uid, func(p *page) { keys = slices.Collect(maps.Keys(p.items)) })
	return keys
}

// Tell notes what the objects of a generator were told, all of them. Neither the
// map nor what is in it changes any more.
func (l *Ledger) Tell(uid types.UID, told map[object.Key]*meta.Artifact) {
	l.on(uid, func(p *page) { p.told = told })
}

// Told returns what an object was last told, nil when that is not known.
func (l *Ledger) Told(uid types.UID, k object.Key) (a *meta.Artifact) {
	l.on(uid, func(p *page) { a = p.told[k] })
	return a
}

// Move says that a write of ours to the status of an object, which touches
// nothing that the inventory tells of, brought it from one version to another.
// Otherwise it would be read again, only to find that all is as it was.
func (l *Ledger) Move(uid types.UID, k object.Key, from, to string) {
	l.on(uid, func(p *page) {
		if it, ok := p.items[k]; ok && it.ResourceVersion == from && from != "" {
			it.ResourceVersion = to
			p.items[k] = it
		}
	})
}

// Leaving returns which objects of a generator are known to be on their way out.
func (l *Ledger) Leaving(uid types.UID) map[object.Key]bool {
	out := map[object.Key]bool{}
	l.on(uid, func(p *page) {
		for k := range p.items {
			if p.items[k].State == inventory.Leaving {
				out[k] = true
			}
		}
	})
	return out
}

// Recipe returns the recipe of a generation of a generator, which is compiled
// when it is not known yet. What does not compile is not remembered.
func (l *Ledger) Recipe(uid types.UID, generation int64, compile func() (*recipe.Recipe, error)) (*recipe.Recipe, error) {
	var known *recipe.Recipe
	l.on(uid, func(p *page) {
		if p.generation == generation {
			known = p.recipe
		}
	})
	if known != nil {
		return known, nil
	}
	r, err := compile()
	if err != nil {
		return nil, err
	}
	l.on(uid, func(p *page) { p.recipe, p.generation = r, generation })
	return r, nil
}

// Forget drops the page of a generator.
func (l *Ledger) Forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pages, uid)
}

// Book is the inventory of one generator, without what is to be left alone.
type Book struct {
	ledger *Ledger
	uid    types.UID
	keep   map[object.Key]bool
}

var _ inventory.Store = (*Book)(nil)

// Open returns the inventory of the generator: what is known, and the objects
// at keys in a version of their kind, of which nothing is known but that they
// may be there. Those in keep are neither written nor removed.
func (l *Ledger) Open(uid types.UID, version string, keys []object.Key, keep map[object.Key]bool) *Book {
	l.on(uid, func(p *page) {
		for _, k := range keys {
			if _, ok := p.items[k]; !ok {
				p.items[k] = inventory.Item{Key: k, Version: version, State: inventory.Intended}
			}
		}
	})
	return &Book{l, uid, keep}
}

// Load implements [inventory.Store].
func (b *Book) Load(context.Context, string) (inventory.Inventory, error) {
	var items map[object.Key]inventory.Item
	b.ledger.on(b.uid, func(p *page) { items = maps.Clone(p.items) })
	maps.DeleteFunc(items, func(k object.Key, _ inventory.Item) bool { return b.keep[k] })
	return inventory.New("", slices.Collect(maps.Values(items))), nil
}

// Commit implements [inventory.Store].
func (b *Book) Commit(_ context.Context, _ string, c inventory.Change) (string, error) {
	b.ledger.on(b.uid, func(p *page) {
		maps.DeleteFunc(p.items, func(k object.Key, _ inventory.Item) bool { return !b.keep[k] })
		for _, it := range c.Next.Items {
			p.items[it.Key] = it
		}
	})
	return "", nil
}
