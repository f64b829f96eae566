// Package forecast says what the next pass over a replication would do, as the
// cluster is now and as far as the one who asks may see it. It makes the same
// steps as a pass with the same rooms, and writes nothing: neither objects nor
// status nor events.
package forecast

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/account"
	"github.com/weir-dev/weir/internal/controller/heritage"
	"github.com/weir-dev/weir/internal/controller/objects"
	"github.com/weir-dev/weir/internal/controller/record"
	"github.com/weir-dev/weir/internal/controller/wanted"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/internal/view"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// Forecaster plans replications. It remembers the namespaces that it has seen,
// so it is for one command and not for long.
type Forecaster struct {
	client  client.Client
	wanted  wanted.Options
	objects *reconciler.Reconciler
}

// New returns a forecaster that reads as the client may. The client reads from
// the API server and knows the kinds of replications.
func New(c client.Client, o wanted.Options) *Forecaster {
	spaces := &namespaces{Reader: c}
	o.Tenants, o.Mapper = spaces, c.RESTMapper()
	return &Forecaster{client: c, wanted: o, objects: objects.NewReconciler(objects.Options{
		Direct: c, Namespaces: spaces, Metadata: c, Parallel: o.Parallel, Now: o.Now,
	})}
}

// Of returns what a pass over the replication would do if it were in the cluster
// as given. Errors of the plan are about parts of it; an error means that there
// is none.
func (f *Forecaster) Of(ctx context.Context, o client.Object) (*view.Plan, error) {
	r, err := of(o)
	if err != nil {
		return nil, err
	}
	if err := f.recall(ctx, r); err != nil {
		return nil, err
	}
	out := &view.Plan{Kind: r.kind, Namespace: o.GetNamespace(), Name: o.GetName(), New: r.isNew}
	if r.Spec.Cordoned && !r.leaves {
		out.Notes = append(out.Notes, "it is cordoned: nothing of this happens before it is resumed")
	}
	j := &job{Forecaster: f, replication: r, out: out}
	if r.leaves {
		out.Notes = append(out.Notes, "it is being deleted")
		return out, j.removal(ctx)
	}
	return out, j.pass(ctx)
}

// recall takes over what the cluster knows of the replication.
func (f *Forecaster) recall(ctx context.Context, r *replication) error {
	stored, status := r.empty()
	err := f.client.Get(ctx, client.ObjectKeyFromObject(r.Object), stored)
	switch {
	case apierrors.IsNotFound(err):
		r.isNew = true
		return nil
	case err != nil:
		return fmt.Errorf("reading it: %w", err)
	}
	r.leaves = stored.GetDeletionTimestamp() != nil
	r.owner = string(stored.GetUID())
	r.before = status.ServiceAccount
	inherit(r.Object, stored)
	of := v1beta2.KindGlobalTenantResource
	if stored.GetNamespace() != "" {
		of = v1beta2.KindTenantResource
	}
	if r.recorded, _, err = record.Look(ctx, f.client, record.OwnerOf(of, stored), status); err != nil {
		return fmt.Errorf("reading what it has: %w", err)
	}
	if len(status.Inventory) == 0 && !record.IsSharded(status) {
		r.recorded = heritage.Inventory(r.id(), r.Spec, status.ProcessedItems)
	}
	return nil
}

// job is the plan of one replication.
type job struct {
	*Forecaster
	*replication

	out      *view.Plan
	targets  []replicate.Target
	failures []*replicate.Failure
}

// maxRounds is how often objects that the reconciler cannot take are taken out
// of a request, as in a pass.
const maxRounds = 3

// pass plans what a pass would do.
func (j *job) pass(ctx context.Context) error {
	search := wanted.New(j.wanted, j.Replication, j.client)
	if err := search.Gather(ctx); err != nil {
		return err
	}
	if name := search.Leaving(); name != "" {
		j.out.Notes = append(j.out.Notes, fmt.Sprintf("tenant %s is going away: nothing is done", name))
		return nil
	}
	var err error
	if j.targets, j.failures, err = search.Render(ctx); err != nil {
		return err
	}
	j.targets = replicate.Withhold(j.targets, j.failures, j.recorded.Find)
	var p *plan.Plan
	for range maxRounds {
		q := j.request()
		q.Objects = objects.All(j.id(), j.targets)
		q.Spare = func(it *inventory.Item) bool { return replicate.Holds(j.failures, it) != nil }
		if p, err = j.objects.Plan(ctx, q); err == nil {
			break
		}
		var bad []*replicate.Failure
		if j.targets, bad = objects.Refused(j.targets, err); len(bad) == 0 {
			return err
		}
		j.failures = append(j.failures, bad...)
	}
	if err != nil {
		return err
	}
	j.tell(p)
	return nil
}

// removal plans the end of the replication.
func (j *job) removal(ctx context.Context) error {
	p, err := j.objects.PlanDelete(ctx, j.request())
	if err != nil {
		return err
	}
	j.tell(p)
	return nil
}

func (j *job) request() reconciler.Request {
	return reconciler.Request{
		Owner: reconciler.Owner{ID: j.owner, Former: heritage.Managers(j.id())}, Store: fixed(j.recorded), Client: j.client,
		Signature: objects.Signature(j.id(), account.UserName(j.account()), j.Object.GetUID()),
	}
}

// fixed is an inventory that does not change.
type fixed inventory.Inventory

// Load implements [inventory.Store].
func (f fixed) Load(context.Context, string) (inventory.Inventory, error) {
	return inventory.Inventory(f), nil
}

// Commit implements [inventory.Store].
func (fixed) Commit(context.Context, string, inventory.Change) (string, error) {
	return "", errors.New("a plan records nothing")
}

// namespaces reads namespaces once, as they are asked for again and again.
type namespaces struct {
	client.Reader
	once  sync.Once
	known map[string]*corev1.Namespace
	err   error
}

// Get implements [client.Reader].
func (n *namespaces) Get(ctx context.Context, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	into, ok := o.(*corev1.Namespace)
	if !ok {
		return n.Reader.Get(ctx, k, o, opts...)
	}
	n.once.Do(func() {
		var list corev1.NamespaceList
		n.err = n.List(ctx, &list)
		n.known = map[string]*corev1.Namespace{}
		for i := range list.Items {
			n.known[list.Items[i].Name] = &list.Items[i]
		}
	})
	found := n.known[k.Name]
	switch {
	case n.err != nil:
		return n.err
	case found == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, k.Name)
	}
	found.DeepCopyInto(into)
	return nil
}
