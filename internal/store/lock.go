package store

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// locks has one lock for each name that is in use. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	used map[types.NamespacedName]*lock
}

type lock struct {
	// taken holds a value while the lock is taken.
	taken chan struct{}
	// users have taken the lock or wait for it.
	users int
}

// take waits for the lock of name and returns the function that gives it
// back, or the cause of ctx's end.
func (l *locks) take(ctx context.Context, name types.NamespacedName) (func(), error) {
	l.mu.Lock()
	if l.used == nil {
		l.used = map[types.NamespacedName]*lock{}
	}
	k := l.used[name]
	if k == nil {
		k = &lock{taken: make(chan struct{}, 1)}
		l.used[name] = k
	}
	k.users++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.used, name)
		}
	}
	select {
	case k.taken <- struct{}{}:
		return func() { <-k.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
