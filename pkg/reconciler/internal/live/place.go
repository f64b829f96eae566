package live

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// Places knows the namespaces of one pass. Each is read at most once, and
// created at most once. Concurrent use is safe.
type Places struct {
	Client client.Client
	// Create says that missing namespaces are created.
	Create bool

	mu  sync.Mutex
	all map[string]*place
}

type place struct {
	mu    sync.Mutex
	known bool
	state plan.Place
}

func (p *Places) of(name string) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]*place{}
	}
	if p.all[name] == nil {
		p.all[name] = &place{}
	}
	return p.all[name]
}

// Set notes the state of a namespace that is part of the set.
func (p *Places) Set(name string, state plan.Place) {
	s := p.of(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.state = true, state
}

// Missed notes that the server refused an object because its namespace is
// missing.
func (p *Places) Missed(name string) {
	state := plan.PlaceMissing
	if p.Create {
		state = plan.PlaceCreate
	}
	p.Set(name, state)
}

// Get returns the state of the namespace. The empty name is always fine, and
// so is a namespace that we may not read: the create will tell.
func (p *Places) Get(ctx context.Context, name string) (plan.Place, error) {
	if name == "" {
		return "", nil
	}
	s := p.of(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known {
		return s.state, nil
	}
	u, err := Get(ctx, p.Client, object.Key{Kind: "Namespace", Name: name}, "v1")
	switch {
	case apierrors.IsForbidden(err):
	case err != nil:
		return "", err
	case u == nil && p.Create:
		s.state = plan.PlaceCreate
	case u == nil:
		s.state = plan.PlaceMissing
	case u.GetDeletionTimestamp() != nil:
		s.state = plan.PlaceTerminating
	}
	s.known = true
	return s.state, nil
}

// Make creates the namespace if it is to be created and nobody did so yet.
func (p *Places) Make(ctx context.Context, name, manager string) error {
	s := p.of(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != plan.PlaceCreate {
		return nil
	}
	u := object.Key{Kind: "Namespace", Name: name}.Stub("v1")
	err := p.Client.Create(ctx, u, client.FieldOwner(manager))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %q: %w", name, err)
	}
	s.state = ""
	return nil
}
