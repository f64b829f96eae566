// Package lane bounds how much large work is under way at a time, so that it
// never takes all workers from the small. Who finds no place waits in a queue,
// and holds no worker meanwhile. It calls nobody and reads no clock.
package lane

import (
	"slices"
	"sync"
)

// Lane has a number of places. Its zero value has one. It must not be copied
// after its first use; concurrent use is safe.
type Lane[K comparable] struct {
	// Width is how many places there are.
	Width int

	mu      sync.Mutex
	in      map[K]bool // guarded by mu, as is all below
	waiting []*waiter[K]
}

// waiter is one in the queue.
type waiter[K comparable] struct {
	key K
	// asked says that it has asked for a place since it last left.
	asked bool
}

// Enter asks for a place and reports whether k has one now. Places are given in
// the order in which they were first asked for. Whoever gets none keeps its
// place in the queue, leaves all the same and asks again later.
func (l *Lane[K]) Enter(k K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.in[k] {
		return true
	}
	at := l.at(k)
	if at < 0 {
		at = len(l.waiting)
		l.waiting = append(l.waiting, &waiter[K]{key: k})
	}
	if at >= l.free() {
		l.waiting[at].asked = true
		return false
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	if l.in == nil {
		l.in = map[K]bool{}
	}
	l.in[k] = true
	return true
}

// Leave ends a piece of work, large or small. Who waits and has not asked again
// in it wants no place any more. It returns who would get a place now, and false
// when nobody would.
func (l *Lane[K]) Leave(k K) (next K, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.in, k)
	if at := l.at(k); at >= 0 {
		if !l.waiting[at].asked {
			l.waiting = slices.Delete(l.waiting, at, at+1)
		} else {
			l.waiting[at].asked = false
			if at == 0 {
				return next, false // it has just been told to wait
			}
		}
	}
	if len(l.waiting) == 0 || l.free() == 0 {
		return next, false
	}
	return l.waiting[0].key, true
}

// at returns the position in the queue, -1 for none.
func (l *Lane[K]) at(k K) int {
	return slices.IndexFunc(l.waiting, func(w *waiter[K]) bool { return w.key == k })
}

func (l *Lane[K]) free() int { return max(1, l.Width) - len(l.in) }
