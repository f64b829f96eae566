package pass

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// book holds the items of a pass. Those that did not change are shared with the
// inventory that was loaded.
type book map[object.Key]*inventory.Item

// get returns the item, the zero value when there is none.
func (b book) get(k object.Key) inventory.Item {
	if it := b[k]; it != nil {
		return *it
	}
	return inventory.Item{}
}

func (b book) put(it inventory.Item) { b[it.Key] = &it }

// Memory remembers at which versions objects were found to be as wanted, so
// that an object whose version did not move costs nothing. It is only a cache.
type Memory struct {
	mu  sync.Mutex
	all map[string]*recall
}

// recall is the memory of one owner.
type recall struct {
	mu   sync.Mutex
	seen map[object.Key]sight
}

// sight is an object as it was found to be as wanted.
type sight struct {
	uid     types.UID
	version string
	digest  string
	health  health.Status
	message string
}

func (m *Memory) of(owner string) *recall {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string]*recall{}
	}
	if m.all[owner] == nil {
		m.all[owner] = &recall{seen: map[object.Key]sight{}}
	}
	return m.all[owner]
}

// Forget drops the memory of an owner.
func (m *Memory) Forget(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, owner)
}

func (r *recall) get(k object.Key) (sight, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.seen[k]
	return s, ok
}

func (r *recall) set(k object.Key, s sight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[k] = s
}

func (r *recall) drop(k object.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, k)
}
