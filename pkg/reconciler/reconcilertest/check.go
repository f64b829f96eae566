package reconcilertest

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

func (r *run) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Errorf(format, args...))
}

// called checks a call before it is made.
func (r *run) called(c Call) {
	if !c.Writes() || c.Inner || r.implicit(c) {
		return
	}
	if !guarded(c) {
		r.problem("%s says neither which incarnation nor which version it is for", c)
	}
	r.mu.Lock()
	_, ok := r.known.Find(c.Key())
	r.mu.Unlock()
	if !ok {
		r.problem("%s is made before the inventory has the object", c)
	}
}

// implicit reports whether the call creates a namespace that nobody tracks.
func (r *run) implicit(c Call) bool {
	return c.Verb == "create" && c.Key().IsNamespace() && c.Body != nil && len(c.Body.GetLabels()) == 0
}

// guarded reports whether the server would refuse the write if the object was
// not the one that was read.
func guarded(c Call) bool {
	switch p := c.Preconditions; c.Verb {
	case "create":
		return true
	case "delete":
		return p.UID != nil && p.ResourceVersion != nil
	default:
		return p.UID != nil || p.ResourceVersion != nil
	}
}

// owner returns the id of the owner, whom all requests name.
func (r *run) owner() string {
	for _, s := range r.Steps {
		if s.Request != nil {
			if id := s.Request(r.world).Owner.ID; id != "" {
				return id
			}
		}
	}
	return r.world.Name
}

func (r *run) stamp() stamp.Stamp {
	if r.Options.Stamp.Label != "" {
		return r.Options.Stamp
	}
	return stamp.Prefix(r.Name)
}

// ours reports whether the object carries our stamp or our manager.
func (r *run) ours(u *unstructured.Unstructured) bool {
	if r.Options.Sharing == nil {
		return r.stamp().Read(u, r.owner()).Ours
	}
	manager := r.Options.FieldOwner
	if manager == "" {
		manager = r.Name
	}
	return slices.ContainsFunc(u.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply
	})
}

// tracked checks that whatever is ours is in the committed inventory.
func (r *run) tracked(ctx context.Context) {
	v := r.committed(ctx)
	for k, version := range r.touched() {
		u, err := r.get(ctx, k, version)
		if err != nil {
			r.problem("reading %s: %w", k, err)
			continue
		}
		if _, ok := v.Find(k); u != nil && r.ours(u) && !ok {
			r.problem("%s is ours and not in the committed inventory", k)
		}
	}
}

// get returns nil when there is no such object.
func (r *run) get(ctx context.Context, k object.Key, version string) (*unstructured.Unstructured, error) {
	u := k.Stub(version)
	err := r.client.Get(ctx, client.ObjectKeyFromObject(u), u)
	if apierrors.IsNotFound(err) || client.IgnoreNotFound(err) != nil && noMatch(err) {
		return nil, nil
	}
	return u, err
}

// checked checks each commit before it is made, and notes what is known to be
// committed.
type checked struct {
	inventory.Store
	run *run
}

func (s *checked) Load(ctx context.Context, owner string) (inventory.Inventory, error) {
	v, err := s.Store.Load(ctx, owner)
	if err == nil {
		s.run.know(v)
	}
	return v, err
}

func (r *run) know(v inventory.Inventory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = v
}

func (s *checked) Commit(ctx context.Context, owner string, c inventory.Change) (string, error) {
	for _, was := range c.Base.Items {
		is, ok := c.Next.Find(was.Key)
		switch {
		case !ok:
			s.run.forgotten(ctx, was)
		case slices.Contains(before[was.State], is.State):
			s.run.problem("%s goes from %s to %s", was.Key, was.State, is.State)
		}
	}
	version, err := s.Store.Commit(ctx, owner, c)
	if err == nil {
		s.run.know(c.Next)
	}
	return version, err
}

// before are the states that an item cannot have after the given one: a pass
// may go through several states before it commits, but an object that was
// written is never again one that was not, unless it was purged or has left.
var before = map[inventory.State][]inventory.State{
	inventory.Applied: {inventory.Intended},
	inventory.Ready:   {inventory.Intended},
	inventory.Purging: {inventory.Intended},
}

// forgotten checks that an object is gone or no longer ours.
func (r *run) forgotten(ctx context.Context, it inventory.Item) {
	u, err := r.get(context.WithoutCancel(ctx), it.Key, it.Version)
	switch {
	case err != nil:
		r.problem("reading %s: %w", it.Key, err)
	case u != nil && r.ours(u) && (it.UID == "" || it.UID == u.GetUID()):
		r.problem("the inventory forgets %s, which is there and ours", it.Key)
	}
}
