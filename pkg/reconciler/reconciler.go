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
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/internal/memory"
	"github.com/weir-dev/weir/pkg/reconciler/internal/pass"
	"github.com/weir-dev/weir/pkg/reconciler/internal/set"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Reconciler applies and removes sets of objects. It is safe for concurrent
// use by different owners.
type Reconciler struct {
	client  client.Client
	config  pass.Config
	rules   set.Rules
	managed []policy.Type
	memory  memory.Memory
	err     error // what is wrong with the options
}

// NewReconciler returns a reconciler. The name is unique among the programs of
// a cluster and looks like a DNS name; it prefixes annotations and labels. The
// client must read unstructured objects from the server and not from a cache,
// as clients do unless told otherwise. Invalid options are reported by the
// first call.
func NewReconciler(name string, clnt client.Client, options ReconcilerOptions) *Reconciler {
	r := &Reconciler{client: clnt, managed: options.ManagedTypes, err: options.check(name)}
	r.config = options.config(name)
	r.rules = options.rules(name, &r.config)
	return r
}

// Plan returns what the next Apply would do, and writes nothing. What depends
// on an earlier wave is planned as if that wave had succeeded. That an apply
// would meet fields of other managers is seen in what the object says of them;
// other refusals of the server are not foreseen.
func (r *Reconciler) Plan(ctx context.Context, q Request) (*plan.Plan, error) {
	in, err := r.input(ctx, q, true)
	if err != nil {
		return nil, err
	}
	in.Dry = true
	out, err := pass.Apply(ctx, &r.config, in)
	return planned(q, out, false), err
}

// PlanDelete returns what the next Delete would do, and writes nothing.
func (r *Reconciler) PlanDelete(ctx context.Context, q Request) (*plan.Plan, error) {
	in, err := r.input(ctx, q, false)
	if err != nil {
		return nil, err
	}
	in.Dry = true
	out, err := pass.Delete(ctx, &r.config, in)
	return planned(q, out, true), err
}

// Execute does what the plan says and nothing else. The request is the one
// that was planned. Actions on objects that have changed since are not done;
// their outcomes carry a *fault.Stale.
func (r *Reconciler) Execute(ctx context.Context, p *plan.Plan, q Request) (*Result, error) {
	if p.Owner != q.Owner.ID {
		return nil, &fault.Invalid{What: fmt.Sprintf("the plan is for owner %q and not for %q", p.Owner, q.Owner.ID)}
	}
	in, err := r.input(ctx, q, !p.Whole)
	if err != nil {
		return nil, err
	}
	in.Only = make(map[object.Key]plan.Action, len(p.Apply)+len(p.Remove))
	for _, list := range [][]plan.Action{p.Apply, p.Remove} {
		for _, a := range list {
			in.Only[a.Key] = a
		}
	}
	if p.Whole {
		return result(pass.Delete(ctx, &r.config, in))
	}
	return result(pass.Apply(ctx, &r.config, in))
}

// Apply makes one pass that brings the cluster closer to the request. The
// result is nil when nothing was tried, because the request is invalid or the
// inventory cannot be loaded. Otherwise the error joins the errors of objects,
// and one failing object stops only those that depend on it.
func (r *Reconciler) Apply(ctx context.Context, q Request) (*Result, error) {
	in, err := r.input(ctx, q, true)
	if err != nil {
		return nil, err
	}
	return result(pass.Apply(ctx, &r.config, in))
}

// Delete makes one pass that removes all objects of the inventory. It is done
// when the inventory is empty. Results and errors are those of Apply.
func (r *Reconciler) Delete(ctx context.Context, q Request) (*Result, error) {
	in, err := r.input(ctx, q, false)
	if err != nil {
		return nil, err
	}
	res, err := result(pass.Delete(ctx, &r.config, in))
	if res.Done {
		r.memory.Forget(q.Owner.ID)
	}
	return res, err
}
