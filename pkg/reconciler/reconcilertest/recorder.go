package reconcilertest

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
)

// Recorder records the calls that are made through its client and its stores.
// Concurrent use is safe.
type Recorder struct {
	// Before, if set, is asked before each call; if it returns an error, the
	// call is not made and fails with it. It may make calls of its own through
	// other clients. Set it before the first call.
	Before func(context.Context, Call) error
	// After, if set, is told of each call that was made, and may replace its
	// error. Set it before the first call.
	After func(context.Context, Call) error

	mu    sync.Mutex
	calls []Call
	begun int
}

// Calls returns the calls so far that all filters select, in the order in
// which they were answered.
func (r *Recorder) Calls(filters ...Filter) []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Call
next:
	for _, c := range r.calls {
		for _, f := range filters {
			if !f(c) {
				continue next
			}
		}
		out = append(out, c)
	}
	return out
}

// Reset forgets the calls so far and counts from 1 again.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.begun = nil, 0
}

// Client returns a client that makes its calls through c and records them.
// What the mapper of c asks the server is not recorded.
func (r *Recorder) Client(c client.Client) client.Client { return &recorded{Client: c, r: r} }

// Reader returns a reader that makes its calls through c and records them. The
// scheme of b tells the kinds of typed objects.
func (r *Recorder) Reader(c client.Reader, b client.Client) client.Reader {
	return &recorded{Client: reading{b, c}, r: r}
}

// reading is a client that reads through another reader.
type reading struct {
	client.Client
	reader client.Reader
}

func (c reading) Get(ctx context.Context, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.reader.Get(ctx, k, o, opts...)
}

func (c reading) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	return c.reader.List(ctx, l, opts...)
}

// Store returns a store that keeps inventories in s and records its calls.
func (r *Recorder) Store(s inventory.Store) inventory.Store { return &recordedStore{s, r} }

// do makes a call and records it. A call that Before refuses is not recorded.
func (r *Recorder) do(ctx context.Context, c Call, call func() error) error {
	c.Inner = c.Kind != "" && ctx.Value(inStore{}) != nil
	r.mu.Lock()
	r.begun++
	c.N = r.begun
	r.mu.Unlock()
	if r.Before != nil {
		if err := r.Before(ctx, c); err != nil {
			return err
		}
	}
	c.Err = call()
	r.mu.Lock()
	r.calls = append(r.calls, c)
	r.mu.Unlock()
	if r.After != nil {
		return r.After(ctx, c)
	}
	return c.Err
}

// inStore marks the context of calls that a store makes.
type inStore struct{}

type recordedStore struct {
	inventory.Store
	r *Recorder
}

func (s *recordedStore) Load(ctx context.Context, owner string) (v inventory.Inventory, err error) {
	err = s.r.do(ctx, Call{Verb: "load"}, func() (err error) {
		v, err = s.Store.Load(context.WithValue(ctx, inStore{}, true), owner)
		return err
	})
	if err != nil {
		return inventory.Inventory{}, err
	}
	return v, nil
}

func (s *recordedStore) Commit(ctx context.Context, owner string, c inventory.Change) (version string, err error) {
	err = s.r.do(ctx, Call{Verb: "commit"}, func() (err error) {
		version, err = s.Store.Commit(context.WithValue(ctx, inStore{}, true), owner, c)
		return err
	})
	if err != nil {
		return "", err
	}
	return version, nil
}

func preconditions(o metav1.Object) (p metav1.Preconditions) {
	if v := o.GetUID(); v != "" {
		p.UID = &v
	}
	if v := o.GetResourceVersion(); v != "" {
		p.ResourceVersion = &v
	}
	return p
}
