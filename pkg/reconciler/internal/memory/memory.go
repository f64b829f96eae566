// Package memory remembers at which versions objects were found to be as
// wanted. It is only a cache: whatever it forgets is read again.
package memory

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Memory is the memory of one reconciler. An object whose version did not move
// costs nothing. The zero value is empty; concurrent use is safe.
type Memory struct {
	mu  sync.Mutex
	all map[string]*Recall
}

// Recall is the memory of one owner.
type Recall struct {
	mu   sync.Mutex
	seen map[object.Key]Sight
}

// Sight is an object as it was found to be as wanted.
type Sight struct {
	UID     types.UID
	Version string
	Digest  string
	Health  health.Status
	Message string
}

// Of returns the memory of an owner.
func (m *Memory) Of(owner string) *Recall {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string]*Recall{}
	}
	if m.all[owner] == nil {
		m.all[owner] = &Recall{seen: map[object.Key]Sight{}}
	}
	return m.all[owner]
}

// Forget drops the memory of an owner.
func (m *Memory) Forget(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, owner)
}

// Get returns how the object was found, and false if it is not remembered.
func (r *Recall) Get(k object.Key) (Sight, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.seen[k]
	return s, ok
}

// Set remembers how the object was found.
func (r *Recall) Set(k object.Key, s Sight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[k] = s
}

// Drop forgets the object.
func (r *Recall) Drop(k object.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, k)
}
