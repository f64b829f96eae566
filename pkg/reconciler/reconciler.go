// Package reconciler applies a set of objects for an owner and removes what the
// set no longer holds. It is for authors of operators, who need five names:
// [NewReconciler] and [ReconcilerOptions] make a [Reconciler]; a [Request] with
// [Object] values says what an owner wants.
//
// One call of [Reconciler.Apply] or [Reconciler.Delete] is one pass: it does
// what can be done now, waits for nothing and says whether more is left. A
// controller calls it in every reconcile; [Converge] repeats it for command
// lines.
//
// Every write is guarded by the server: it happens only to the incarnation and
// version of the object that was read, and whose owner was checked. What an
// owner has is kept in an inventory that is written ahead, so a crash between
// any two requests loses and leaks nothing.
//
// The package renders no manifests, watches nothing and schedules nothing.
package reconciler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// Reconciler applies and removes sets of objects. It is safe for concurrent
// use by different owners.
type Reconciler struct {
	name    string
	client  client.Client
	options ReconcilerOptions
}

// NewReconciler returns a reconciler. The name is unique among the programs of
// a cluster and looks like a DNS name; it prefixes annotations and labels. The
// client must read unstructured objects from the server and not from a cache,
// as clients do unless told otherwise. Invalid options are reported by the
// first call.
func NewReconciler(name string, clnt client.Client, options ReconcilerOptions) *Reconciler {
	return &Reconciler{name: name, client: clnt, options: options}
}

// Plan returns what the next Apply would do, and writes nothing. What depends
// on an earlier wave is planned as if that wave had succeeded.
func (r *Reconciler) Plan(ctx context.Context, q Request) (*plan.Plan, error) { panic("todo") }

// PlanDelete returns what the next Delete would do, and writes nothing.
func (r *Reconciler) PlanDelete(ctx context.Context, q Request) (*plan.Plan, error) { panic("todo") }

// Execute does what the plan says and nothing else. The request is the one
// that was planned. Actions on objects that have changed since are not done;
// their outcomes carry a *fault.Stale.
func (r *Reconciler) Execute(ctx context.Context, p *plan.Plan, q Request) (*Result, error) {
	panic("todo")
}

// Apply makes one pass that brings the cluster closer to the request. The
// result is nil when nothing was tried, because the request is invalid or the
// inventory cannot be loaded. Otherwise the error joins the errors of objects,
// and one failing object stops only those that depend on it.
func (r *Reconciler) Apply(ctx context.Context, q Request) (*Result, error) { panic("todo") }

// Delete makes one pass that removes all objects of the inventory. It is done
// when the inventory is empty. Results and errors are those of Apply.
func (r *Reconciler) Delete(ctx context.Context, q Request) (*Result, error) { panic("todo") }

// IsDeletionAllowed reports whether objects of kinds that the set defines exist
// and belong to others, which would keep a deletion from finishing. The string
// names one of them.
func (r *Reconciler) IsDeletionAllowed(ctx context.Context, q Request) (bool, string, error) {
	panic("todo")
}

// Recover rebuilds a lost inventory from the stamps of objects of the given
// kinds and commits it together with what the store still has. Items that are
// recovered are orphaned in the end unless their own annotation says otherwise.
func (r *Reconciler) Recover(ctx context.Context, q Request, kinds []schema.GroupVersionKind) (inventory.Inventory, error) {
	panic("todo")
}
