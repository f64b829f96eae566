package replication

import (
	"context"
	"slices"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/account"
	"github.com/weir-dev/weir/internal/controller/heritage"
	"github.com/weir-dev/weir/internal/controller/objects"
	"github.com/weir-dev/weir/internal/controller/record"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
)

// processing is the message while work is under way.
const processing = "processing"

// gate turns targets into objects, each with the condition of its block.
func (r *run) gate(context.Context) error {
	recorded, err := r.recorded()
	if err != nil {
		return err
	}
	r.targets = replicate.Withhold(r.targets, r.failures, recorded.Find)
	r.objects = make([]reconciler.Object, len(r.targets))
	for i := range r.targets {
		r.objects[i] = objects.Of(r.id(), &r.targets[i])
	}
	return nil
}

// maxRounds is how often objects that the reconciler cannot take are taken out
// of a request.
const maxRounds = 3

// apply brings the targets to what is wanted, and then removes what is wanted
// no longer.
func (r *run) apply(ctx context.Context) error {
	recorded, err := r.recorded()
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
	s := r.store()
	for range maxRounds {
		q := r.request(s)
		q.Objects, q.Spare = r.objects, r.spares
		r.result, err = r.Engine.objects.Apply(ctx, q)
		if s.Err != nil {
			return s.Err
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
	bad := objects.Refused(err)
	n := len(r.targets)
	r.targets = slices.DeleteFunc(r.targets, func(t replicate.Target) bool {
		err := bad[t.Key]
		if err != nil {
			r.failures = append(r.failures, t.Fail(err))
		}
		return err != nil
	})
	r.objects = r.objects[:0]
	for i := range r.targets {
		r.objects = append(r.objects, objects.Of(r.id(), &r.targets[i]))
	}
	return len(r.targets) < n
}

// general returns the error of a pass that is not about one object.
func general(res *reconciler.Result, err error) error {
	if res == nil {
		return err
	}
	return res.Cut
}

// remove removes everything.
func (r *run) remove(ctx context.Context) error {
	if r.switched {
		if err := r.pass.Begin(ctx, processing); err != nil {
			return err
		}
	}
	s := r.store()
	var err error
	r.result, err = r.Engine.objects.Delete(ctx, r.request(s))
	if s.Err != nil {
		return s.Err
	}
	r.broken = general(r.result, err)
	return nil
}

// request returns what all requests of the replication have in common.
func (r *run) request(s inventory.Store) reconciler.Request {
	return reconciler.Request{
		Owner: reconciler.Owner{ID: string(r.object.GetUID()), Former: heritage.Managers(r.id())}, Store: s, Client: r.client,
		Signature: objects.Signature(r.id(), account.UserName(r.account), r.object.GetUID()),
	}
}

// recorded returns the inventory of the status.
func (r *run) recorded() (inventory.Inventory, error) {
	v, err := record.Open(r.status.Inventory)
	if err != nil {
		return v, fail.Stalled(v1beta2.ReasonFailed, "status.inventory: %w", err)
	}
	return v, nil
}

// store keeps the inventory in the status.
func (r *run) store() *record.Store {
	return &record.Store{
		Data:  &r.status.Inventory,
		Write: func(ctx context.Context) error { return r.pass.Record(ctx, processing) },
	}
}
