package replication

import (
	"context"
	"slices"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/budget"
	"github.com/weir-dev/weir/internal/controller/account"
	"github.com/weir-dev/weir/internal/controller/heritage"
	"github.com/weir-dev/weir/internal/controller/objects"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// processing is the message while work is under way.
const processing = "processing"

// gate turns targets into objects, each with the condition of its block.
func (r *run) gate(ctx context.Context) error {
	recorded, err := r.recorded(ctx)
	if err != nil {
		return err
	}
	r.targets = replicate.Withhold(r.targets, r.failures, recorded.Find)
	r.objects = objects.All(r.id(), r.targets)
	return nil
}

// maxRounds is how often objects that the reconciler cannot take are taken out
// of a request.
const maxRounds = 3

// apply brings the targets to what is wanted, and then removes what is wanted
// no longer.
func (r *run) apply(ctx context.Context) error {
	recorded, err := r.recorded(ctx)
	if err != nil {
		return err
	}
	if len(r.objects)+len(recorded.Items) == 0 {
		r.result = &reconciler.Result{}
		return nil
	}
	// With new targets the inventory is recorded ahead, which says the same.
	if (r.switched || !r.isObserved()) && !r.isNew(recorded) {
		if err := r.pass.Begin(ctx, processing); err != nil {
			return err
		}
	}
	for range maxRounds {
		q := r.request()
		q.Objects, q.Spare = r.objects, r.spares
		if err = r.bound(ctx, &q, recorded); err == nil {
			r.result, err = r.Engine.objects.Apply(ctx, q)
		}
		if err := r.record.Err(); err != nil {
			return err
		}
		if r.result != nil || !r.drop(err) {
			break
		}
	}
	r.broken = general(r.result, err)
	return nil
}

// isNew reports whether there are targets that are not recorded yet.
func (r *run) isNew(recorded inventory.Inventory) bool {
	return slices.ContainsFunc(r.targets, func(t replicate.Target) bool {
		_, ok := recorded.Find(t.Key)
		return !ok
	})
}

// isObserved reports whether the last pass over this generation came to an end.
func (r *run) isObserved() bool {
	for _, c := range r.status.Conditions {
		if c.Type == v1beta2.ConditionReady {
			return c.ObservedGeneration == r.object.GetGeneration() && c.Status != "Unknown"
		}
	}
	return false
}

// spares keeps what a render that failed may have wanted.
func (r *run) spares(it *inventory.Item) bool { return replicate.Holds(r.failures, it) != nil }

// drop takes the objects out of the request that made it invalid, and reports
// whether there were any.
func (r *run) drop(err error) bool {
	left, bad := objects.Refused(r.targets, err)
	r.targets, r.failures = left, append(r.failures, bad...)
	r.objects = objects.All(r.id(), left)
	return len(bad) > 0
}

// general returns the error of a pass that is not about one object.
func general(res *reconciler.Result, err error) error {
	if res == nil {
		return err
	}
	return res.Cut
}

// remove removes everything, or nothing if that is more than the budget of the
// replication.
func (r *run) remove(ctx context.Context) error {
	q := r.request()
	if err := r.boundAll(ctx, q); err != nil {
		return err
	}
	if r.switched {
		if err := r.pass.Begin(ctx, processing); err != nil {
			return err
		}
	}
	var err error
	r.result, err = r.Engine.objects.Delete(ctx, q)
	if err := r.record.Err(); err != nil {
		return err
	}
	r.broken = general(r.result, err)
	return nil
}

// request returns what all requests of the replication have in common.
func (r *run) request() reconciler.Request {
	return reconciler.Request{
		Owner: reconciler.Owner{ID: string(r.object.GetUID()), Former: heritage.Managers(r.id())}, Store: r.record, Client: r.client,
		Signature: objects.Signature(r.id(), account.UserName(r.account), r.object.GetUID()),
	}
}

// recorded returns the inventory before the pass.
func (r *run) recorded(ctx context.Context) (inventory.Inventory, error) {
	return r.record.Load(ctx, "")
}

// bound has a pass remove nothing if it would remove more than the budget of the
// replication. The rest of the pass goes on.
func (r *run) bound(ctx context.Context, q *reconciler.Request, recorded inventory.Inventory) error {
	r.blocked = nil
	if !budget.IsSet(r.object.GetAnnotations()) || !r.removes(recorded) {
		return nil
	}
	p, err := r.Engine.objects.Plan(ctx, *q)
	if err != nil {
		return err
	}
	r.blocked = r.judge(p, recorded)
	q.KeepStale = r.blocked != nil
	return nil
}

// removes reports whether there are recorded targets that are wanted no longer.
func (r *run) removes(recorded inventory.Inventory) bool {
	if len(recorded.Items) == 0 {
		return false
	}
	wanted := make(map[string]bool, len(r.targets))
	for i := range r.targets {
		wanted[r.targets[i].String()] = true
	}
	return slices.ContainsFunc(recorded.Items, func(it inventory.Item) bool { return !wanted[it.String()] && !r.spares(&it) })
}

// boundAll fails if the end of the replication would remove more than its budget.
func (r *run) boundAll(ctx context.Context, q reconciler.Request) error {
	if !budget.IsSet(r.object.GetAnnotations()) {
		return nil
	}
	recorded, err := r.recorded(ctx)
	if err != nil {
		return err
	}
	p, err := r.Engine.objects.PlanDelete(ctx, q)
	if err != nil {
		return err
	}
	return r.judge(p, recorded)
}

// judge returns the error of a plan that removes more than the budget.
func (r *run) judge(p *plan.Plan, recorded inventory.Inventory) error {
	err := budget.Judge(r.object.GetAnnotations(), objects.Removals(p, recorded), len(p.Apply))
	if err == nil {
		return nil
	}
	return &fail.Error{Reason: v1beta2.ReasonPruneBlocked, Class: fail.Wait, Err: err}
}

// writer writes the status of a pass while work is under way.
type writer struct{ *loop.Pass }

// Begin implements [record.Writer].
func (w writer) Begin(ctx context.Context) error { return w.Pass.Begin(ctx, processing) }

// Record implements [record.Writer].
func (w writer) Record(ctx context.Context) error { return w.Pass.Record(ctx, processing) }
