package artifactgenerator

import (
	"context"
	"maps"
	"path"
	"slices"
	"sync"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// ledger is what the object reconciler knows of the objects of generators. A
// generator's status has no room for it but for names, which is all that must
// survive the process: they are in the status before an object is created. The
// rest only spares requests, and tells a fight over an object, which a restart
// may begin once more.
type ledger struct {
	mu  sync.Mutex
	all map[types.UID]map[object.Key]inventory.Item
}

func (l *ledger) items(uid types.UID) map[object.Key]inventory.Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.all[uid])
}

func (l *ledger) set(uid types.UID, items map[object.Key]inventory.Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(items) == 0 {
		delete(l.all, uid)
		return
	}
	if l.all == nil {
		l.all = map[types.UID]map[object.Key]inventory.Item{}
	}
	l.all[uid] = items
}

// book is the inventory of one generator, without what is to be left alone.
type book struct {
	*ledger

	uid  types.UID
	keep map[object.Key]bool
}

var _ inventory.Store = (*book)(nil)

// open returns the inventory of the generator: what its status names, and what
// names the generator, should a status have been lost.
func (r *run) open(live map[object.Key]*sourcev1.ExternalArtifact) *book {
	items := r.ledger.items(r.uid())
	if items == nil {
		items = map[object.Key]inventory.Item{}
	}
	add := func(k object.Key) {
		if _, ok := items[k]; !ok {
			items[k] = inventory.Item{Key: k, Version: external.Kind.Version, State: inventory.Intended}
		}
	}
	for _, e := range r.generator.Status.Inventory {
		if e.IsArtifact() {
			add(keyOf(e))
		}
	}
	for k := range live {
		add(k)
	}
	r.ledger.set(r.uid(), items)
	b := &book{ledger: &r.ledger, uid: r.uid(), keep: map[object.Key]bool{}}
	for _, e := range r.plan.keep {
		b.keep[keyOf(e)] = true
	}
	return b
}

// Load implements [inventory.Store].
func (b *book) Load(context.Context, string) (inventory.Inventory, error) {
	items := b.items(b.uid)
	maps.DeleteFunc(items, func(k object.Key, _ inventory.Item) bool { return b.keep[k] })
	return inventory.New("", slices.Collect(maps.Values(items))), nil
}

// Commit implements [inventory.Store].
func (b *book) Commit(_ context.Context, _ string, c inventory.Change) (string, error) {
	items := b.items(b.uid)
	maps.DeleteFunc(items, func(k object.Key, _ inventory.Item) bool { return !b.keep[k] })
	if items == nil {
		items = map[object.Key]inventory.Item{}
	}
	for _, it := range c.Next.Items {
		items[it.Key] = it
	}
	b.set(b.uid, items)
	return "", nil
}

// sights are the versions at which objects were found to be as wanted.
type sights map[object.Key]string

// settled is what the last pass that ended well has seen.
type settled struct {
	generation int64
	digest     string // of the sources
	versions   sights
}

// memory is what was settled, by generator. It is lost with the process, and
// then everything is looked at again.
type memory struct {
	mu  sync.Mutex
	all map[types.UID]settled
}

func (m *memory) of(uid types.UID) (settled, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.all[uid]
	return s, ok
}

func (m *memory) set(uid types.UID, s settled) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[types.UID]settled{}
	}
	m.all[uid] = s
}

func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, uid)
}

// pathOf returns where the file of an entry is in the store.
func pathOf(e v1beta1.InventoryEntry) string {
	name := types.NamespacedName{Namespace: e.Namespace, Name: e.Name}
	return path.Join(path.Dir(store.Path(name, blob.Digest{})), e.Filename)
}
