package pass

import (
	"context"
	"slices"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/internal/book"
	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/internal/order"
	"github.com/weir-dev/weir/pkg/reconciler/internal/set"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// waves applies the set wave by wave and reports whether all of it is ready.
func (p *pass) waves(ctx context.Context) (bool, error) {
	ready := true
	for from := 0; from < len(p.Wants); {
		to := from
		wave := p.Wants[from].Policy.ApplyOrder
		for to < len(p.Wants) && p.Wants[to].Policy.ApplyOrder == wave {
			to++
		}
		switch {
		case !ready:
			p.skip(p.Wants[from:to], plan.WaveNotReached)
		default:
			ready = p.wave(ctx, p.Wants[from:to])
			if !ready || p.Dry {
				break
			}
			purged, err := p.purge(ctx, p.Wants[:to], wave, to == len(p.Wants))
			if err != nil {
				return false, err
			}
			ready = purged
		}
		ready = ready || p.Dry
		from = to
	}
	return ready, ctx.Err()
}

// wave applies the wants of one wave, stage by stage and rank by rank. A stage
// starts only if the stages before it are ready; a rank only comes later.
func (p *pass) wave(ctx context.Context, wants []*set.Want) bool {
	p.prefetch(ctx, wants)
	ready, staged := true, true
	stage := wants[0].Stage
	for from := 0; from < len(wants); {
		first := wants[from]
		to := from
		for to < len(wants) && wants[to].Stage == first.Stage && rank(wants[to]) == rank(first) {
			to++
		}
		if first.Stage != stage {
			stage, staged = first.Stage, ready || p.Dry
		}
		if staged {
			ready = p.group(ctx, wants[from:to]) && ready
		} else {
			p.skip(wants[from:to], plan.DependencyPending)
			ready = false
		}
		from = to
	}
	return ready
}

// prefetch lists what is there of the objects that are new.
func (p *pass) prefetch(ctx context.Context, wants []*set.Want) {
	var refs []live.Ref
	for _, w := range wants {
		if !w.Untyped && w.Err == nil && !p.book.Get(w.Key).State.Written() {
			refs = append(refs, live.Ref{Key: w.Key, Version: w.Version})
		}
	}
	p.ahead = live.Prefetch(ctx, p.Client, refs)
}

func rank(w *set.Want) int { return order.Apply(w.GroupKind()) }

// group applies wants that do not depend on each other, a batch at a time to
// bound what is held in memory.
func (p *pass) group(ctx context.Context, wants []*set.Want) bool {
	ready := true
	for batch := range slices.Chunk(wants, 500) {
		ready = p.batch(ctx, batch) && ready
	}
	return ready
}

func (p *pass) batch(ctx context.Context, wants []*set.Want) bool {
	results := make([]done, len(wants))
	p.each(len(wants), func(i int) { results[i] = p.one(ctx, wants[i]) })
	p.repeat(ctx, wants, results)
	ready := true
	for i, d := range results {
		p.merge(wants[i], d)
		ready = ready && d.ok
	}
	return ready
}

// repeat does what had to be recorded before it could be done.
func (p *pass) repeat(ctx context.Context, wants []*set.Want, results []done) {
	for range tries {
		var again []int
		for i, d := range results {
			if d.again {
				again = append(again, i)
				p.book.Put(d.item)
				p.book.Dirty = true // also if only the version moved
			}
		}
		if len(again) == 0 {
			return
		}
		if err := p.commit(ctx, true); err != nil {
			for _, i := range again {
				results[i].Err, results[i].again = err, false
			}
			return
		}
		p.each(len(again), func(n int) {
			i := again[n]
			results[i] = p.one(ctx, wants[i])
		})
	}
}

// merge records what a worker did.
func (p *pass) merge(w *set.Want, d done) {
	if p.spaces[w.Name] && w.IsNamespace() && d.ok {
		p.look.Places.Set(w.Name, "")
	}
	if tracked := d.item.Kind != ""; tracked && (!d.same || book.Differs(w, &d.item)) {
		// Shared owners end by the policy that last succeeded, exclusive ones
		// by the one that was last wanted.
		last := d.item.Policy
		it := book.Record(w, d.item)
		if p.Style.Shared != nil && d.Err != nil && d.item.State.Written() {
			it.Policy = last
		}
		p.book.Put(it)
	}
	p.due(w, d.item)
	p.out.Apply = append(p.out.Apply, d.Outcome)
	p.observe(d.Outcome)
}

// due notes when the next reapply is.
func (p *pass) due(w *set.Want, it inventory.Item) {
	if w.Policy.Reapply <= 0 || w.Policy.Reconcile == policy.Once || !it.State.Written() {
		return
	}
	left := max(it.At.Add(w.Policy.Reapply).Sub(p.now), 1)
	if p.out.Due == 0 || left < p.out.Due {
		p.out.Due = left
	}
}

// skip leaves wants for a later pass, without reading them.
func (p *pass) skip(wants []*set.Want, why plan.Reason) {
	for _, w := range wants {
		o := plan.Outcome{Action: action(w, plan.Wait, why)}
		if it := p.book.Get(w.Key); it.State == inventory.Purged && it.Digest == w.Digest {
			o = plan.Outcome{Action: action(w, plan.None, plan.Completed)}
		}
		p.out.Apply = append(p.out.Apply, o)
		p.observe(o)
	}
}

// purge deletes the wants whose purge order has come, all of whose waves are
// ready. It reports whether none is left to be deleted.
func (p *pass) purge(ctx context.Context, wants []*set.Want, wave int, last bool) (bool, error) {
	var due []*set.Want
	for _, w := range wants {
		at := w.Policy.PurgeOrder
		if at == nil || *at > wave && !last {
			continue
		}
		it := p.book.Get(w.Key)
		if it.State == inventory.Purged || !it.State.Written() {
			continue
		}
		if it.State != inventory.Purging {
			it.State = inventory.Purging
			p.book.Put(it)
		}
		due = append(due, w)
	}
	if len(due) == 0 {
		return true, nil
	}
	if err := p.commit(ctx, true); err != nil {
		return false, err
	}
	results := make([]done, len(due))
	p.each(len(due), func(i int) { results[i] = p.one(ctx, due[i]) })
	all := true
	for i, d := range results {
		p.book.Put(book.Record(due[i], d.item))
		p.replace(d.Outcome)
		p.observe(d.Outcome)
		all = all && d.ok
	}
	return all, nil
}

// replace puts an outcome in the place of an earlier one of the same object.
func (p *pass) replace(o plan.Outcome) {
	for i := range p.out.Apply {
		if p.out.Apply[i].Key == o.Key {
			p.out.Apply[i] = o
		}
	}
}

// mayPrune reports whether what left the set may be removed now.
func (p *pass) mayPrune(ready bool) bool {
	if ready || p.Dry || p.Prune == policy.PruneAlways {
		return true
	}
	if p.Prune == policy.PruneReady {
		return false
	}
	for _, o := range p.out.Apply {
		var sick *fault.Unhealthy
		written := o.Verb == plan.None || o.Verb == plan.Skip || o.Verb.Writes() ||
			o.Verb == plan.Wait && (o.Reasons[0] == plan.NotReady || o.Reasons[0] == plan.Unhealthy)
		if !written || o.Err != nil && !as(o.Err, &sick) {
			return false
		}
	}
	return true
}
