// Package origin reads what the blocks of a replication ask for, each query once
// a pass. What may be asked for is decided in package replicate.
package origin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/replicate"
)

// Reader reads sources for one pass. It must not be copied after its first use;
// concurrent use is safe.
type Reader struct {
	// Client acts as whoever may see the sources.
	Client client.Reader

	mu  sync.Mutex
	all map[replicate.Query]func() ([]*unstructured.Unstructured, error) // guarded by mu
}

// Find returns the objects that a query is for. They are shared and not
// changed.
func (r *Reader) Find(ctx context.Context, q replicate.Query) ([]*unstructured.Unstructured, error) {
	r.mu.Lock()
	if r.all == nil {
		r.all = map[replicate.Query]func() ([]*unstructured.Unstructured, error){}
	}
	read, ok := r.all[q]
	if !ok {
		read = sync.OnceValues(func() ([]*unstructured.Unstructured, error) {
			if q.Name != "" {
				return r.get(ctx, q)
			}
			return r.list(ctx, q)
		})
		r.all[q] = read
	}
	r.mu.Unlock()
	return read()
}

// Asked returns what was asked for, in no order.
func (r *Reader) Asked() []replicate.Query {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.all))
}

func (r *Reader) get(ctx context.Context, q replicate.Query) ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(q.GroupVersionKind)
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: q.Namespace, Name: q.Name}, u)
	switch {
	case apierrors.IsNotFound(err) && !q.Required:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("failed to get %s/%s: %w", q.Kind, q.Name, err)
	}
	return []*unstructured.Unstructured{u}, nil
}

func (r *Reader) list(ctx context.Context, q replicate.Query) ([]*unstructured.Unstructured, error) {
	selector, err := labels.Parse(q.Selector)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(q.GroupVersion().WithKind(q.Kind + "List"))
	if err := r.Client.List(ctx, list, client.InNamespace(q.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("failed to list %s: %w", q.Kind, err)
	}
	out := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}
