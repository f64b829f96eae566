package pass

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/internal/book"
	"github.com/weir-dev/weir/pkg/reconciler/internal/deed"
	"github.com/weir-dev/weir/pkg/reconciler/internal/field"
	"github.com/weir-dev/weir/pkg/reconciler/internal/look"
	"github.com/weir-dev/weir/pkg/reconciler/internal/memory"
	"github.com/weir-dev/weir/pkg/reconciler/internal/set"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// tries is how often an object is read and decided again when it changed in
// between.
const tries = 4

// writing is what errors say was being done, but for deletions.
const writing = "writing"

// done is what a worker found and did for one object.
type done struct {
	plan.Outcome

	item inventory.Item
	// gone says that the inventory forgets the object.
	gone bool
	// ok says that what depends on the object may go on.
	ok bool
	// same says that nothing was read and nothing can have changed.
	same bool
	// again says that the item has to be committed before anything is done.
	again bool
}

// retry attempts something until the object stands still.
func (p *pass) retry(attempt func(first bool) (done, error)) done {
	begin := p.Now()
	for try := 1; ; try++ {
		d, err := attempt(try == 1)
		var stale *fault.Stale
		if as(err, &stale) && try < tries && p.Only == nil {
			continue
		}
		if err != nil {
			d.Err = err
			d.Reasons = append(d.Reasons, deed.Reason(err))
		}
		d.Took = p.Now().Sub(begin)
		return d
	}
}

// one brings one object of the set closer to what is wanted.
func (p *pass) one(ctx context.Context, w *set.Want) done {
	it := p.book.Get(w.Key)
	if w.Err != nil {
		o := plan.Outcome{Action: action(w, plan.Refuse, plan.TypeUnknown), Err: fmt.Errorf("%s: %w", w.Key, w.Err)}
		return done{Outcome: o, item: it, same: true}
	}
	if w.Guessed {
		return done{Outcome: plan.Outcome{Action: action(w, plan.Wait, plan.TypeUnknown)}, item: it, same: true}
	}
	if d, ok := p.unchanged(w, it); ok {
		return d
	}
	d := p.retry(func(first bool) (done, error) {
		d, err := p.attempt(ctx, w, it, first)
		var stale *fault.Stale
		if it.Pinned() && as(err, &stale) {
			it = book.Unpin(it)
		}
		return d, err
	})
	d.ok = healthy(d.Outcome)
	return d
}

// unchanged answers for an object that is as it was when it was last found to
// be as wanted. Nothing is read and nothing is hashed.
func (p *pass) unchanged(w *set.Want, it inventory.Item) (done, bool) {
	if it.State == inventory.Purged && it.Digest == w.Digest {
		return done{Outcome: plan.Outcome{Action: action(w, plan.None, plan.Completed)}, item: it, ok: true, same: true}, true
	}
	m, ok := p.meta[w.Key]
	switch {
	case !ok, m.Terminating, m.UID != it.UID, // not as it was
		it.State == inventory.Purging, it.Digest != w.Digest, w.Gate != nil, p.reapply(w, it): // not as wanted
		return done{}, false
	}
	s, ok := p.memory.Get(w.Key)
	if !ok || s.UID != m.UID || s.Version != m.ResourceVersion || s.Digest != w.Digest {
		if it.State != inventory.Ready || it.ResourceVersion != m.ResourceVersion {
			return done{}, false
		}
		s = memory.Sight{Health: health.Current}
	}
	o := *plan.Settled(w.Key, s.Health, s.Message)
	o.Version, o.Digest, o.Wave = w.Version, w.Digest, w.Policy.ApplyOrder
	o.Pre = plan.Precondition{UID: m.UID, ResourceVersion: m.ResourceVersion}
	return done{Outcome: o, item: it, ok: healthy(o), same: true}, true
}

func (p *pass) reapply(w *set.Want, it inventory.Item) bool {
	return w.Policy.Reapply > 0 && w.Policy.Reconcile != policy.Once && it.At.Add(w.Policy.Reapply).Before(p.now)
}

// attempt reads, decides and acts once. The first attempt may take what was
// read ahead.
func (p *pass) attempt(ctx context.Context, w *set.Want, it inventory.Item, first bool) (done, error) {
	d := done{Outcome: plan.Outcome{Action: action(w, plan.Refuse)}, item: it}
	var ahead *look.Ahead
	if first && !it.State.Written() {
		ahead = p.foreseen(w)
	}
	t, err := p.look.At(ctx, w, it, ahead)
	if err != nil {
		return d, err
	}
	it = t.Facts.Item
	d.item, d.Outcome = it, plan.Apply(t.Facts)
	if p.Dry || p.Only != nil {
		p.foresee(t, &d)
	}
	if err = p.planned(&d); err != nil {
		return d, err
	}
	if p.Dry || !d.Verb.Writes() {
		d.item = p.found(t, d.Outcome, it)
		return d, nil
	}
	if has(d.Outcome, plan.TakenOver) && !book.Pinned(t, &it) {
		d.item, d.again = book.Pin(t, it), true
		return d, nil
	}
	if ahead == nil || !ahead.Guessed {
		return p.act(ctx, t, d)
	}
	done, err := p.act(ctx, t, d)
	if err != nil { // whatever it is, an answer needs a look
		p.wrong.Add(1)
		return d, &fault.Stale{Key: w.Key}
	}
	return done, nil
}

// patience is how many guesses may be wrong before a pass stops guessing.
const patience = 4

// foreseen returns what is known of an object without reading it in its turn,
// nil when nothing is. What is new to the inventory is probably new to the
// cluster, and the server lets a create pass only then: so it is tried, and the
// object is read if that fails. Where namespaces are created on the way, or a
// gate or a plan asks for facts, nothing is guessed.
func (p *pass) foreseen(w *set.Want) *look.Ahead {
	if u, ok := p.ahead[w.Key]; ok {
		return &look.Ahead{Live: u}
	}
	factual := p.Dry || p.Only != nil || p.Create || w.Gate != nil || w.Untyped || p.spaces[w.Namespace]
	if factual || !p.fresh[w.Key] || p.wrong.Load() >= patience {
		return nil
	}
	return &look.Ahead{Guessed: true}
}

// foresee refuses a write that the server would refuse: an apply that may not take
// fields of other managers.
func (p *pass) foresee(t *look.Target, d *done) {
	if !t.Applied || t.Live == nil || t.Facts.Policy.Conflict != policy.Fail || d.Verb != plan.Adopt && d.Verb != plan.Update {
		return
	}
	if fields := field.Conflicts(t.Body, t.Live, t.Manager, p.look.Takes(t)); len(fields) > 0 {
		d.Verb, d.Writes = plan.Refuse, 0
		d.Reasons = append(d.Reasons, plan.FieldConflict)
		d.Err = &fault.FieldConflict{Key: d.Key, Fields: fields}
	}
}

// planned returns an error if a plan is executed and asks for another action.
func (p *pass) planned(d *done) error {
	if p.Only == nil {
		return nil
	}
	a, ok := p.Only[d.Key]
	what := "the plan does not have it"
	if ok {
		what = difference(&a, &d.Action)
	}
	if what == "" {
		return nil
	}
	d.Verb, d.Reasons, d.Writes, d.Err = plan.Refuse, nil, 0, nil
	return &fault.Stale{Key: d.Key, What: what}
}

// difference says in which respect an action is not the planned one.
func difference(planned, now *plan.Action) string {
	for _, c := range []struct{ what, was, is string }{
		{"presence", strconv.FormatBool(!planned.Pre.Absent), strconv.FormatBool(!now.Pre.Absent)},
		{"uid", string(planned.Pre.UID), string(now.Pre.UID)},
		{"resource version", planned.Pre.ResourceVersion, now.Pre.ResourceVersion},
		{"manifest", planned.Digest, now.Digest},
		{"verb", string(planned.Verb), string(now.Verb)},
	} {
		if c.was != c.is {
			return fmt.Sprintf("%s was %q and is %q", c.what, c.was, c.is)
		}
	}
	return ""
}

// act does what was decided for an object of the set.
func (p *pass) act(ctx context.Context, t *look.Target, d done) (done, error) {
	switch d.Verb {
	case plan.Purge:
		gone, err := p.do.Destroy(ctx, t.Live)
		d.Health = health.Terminating
		if gone {
			d.Health = health.Current
			d.item = p.purged(d.item)
		}
		return d, deed.Fault(writing, t.Live, t.Manager, err)
	case plan.Finalize:
		return d, deed.Fault(writing, t.Live, t.Manager, p.do.Finalize(ctx, t.Live))
	default:
		return p.put(ctx, t, d)
	}
}

// put writes an object of the set.
func (p *pass) put(ctx context.Context, t *look.Target, d done) (done, error) {
	put := p.do.Update
	switch d.Verb {
	case plan.Create:
		put = p.do.Create
	case plan.Recreate:
		put = p.do.Recreate
	case plan.Restamp:
		put = p.do.Restamp
	default:
	}
	stored, err := put(ctx, t)
	if d.Verb == plan.Create && apierrors.IsNotFound(err) && deed.Reason(err) != plan.TypeUnknown && d.Namespace != "" {
		p.look.Places.Missed(d.Namespace) // and decide again
	}
	if err != nil {
		return d, deed.Fault(writing, orBody(t), t.Manager, err)
	}
	if stored == nil { // deleted, and not gone yet
		d.Health = health.Terminating
		return d, nil
	}
	if d.Verb == plan.Restamp && p.Style.Shared != nil { // no content was written
		d.item = p.sighted(t, stored, d.item)
		return d, nil
	}
	d.item = p.written(t, stored, d.item, d.Verb == plan.Create || d.Verb == plan.Recreate)
	d.item.Takeovers = takeovers(t, &d)
	d.Health, d.Message = p.Style.Health.Analyze(stored, t.Want.Policy.Hints)
	if d.Health == health.Failed {
		d.Err = &fault.Unhealthy{Key: d.Key, Message: d.Message}
		d.Reasons = append(d.Reasons, plan.Unhealthy)
	}
	return d, nil
}

// healthy reports whether what depends on an object may go on.
func healthy(o plan.Outcome) bool {
	if o.Err != nil {
		return false
	}
	switch o.Verb {
	case plan.Skip:
		return true
	case plan.None:
		return o.Health == health.Current || has(o, plan.Completed)
	case plan.Create, plan.Adopt, plan.Update, plan.Recreate, plan.Restamp, plan.Purge:
		return o.Health == health.Current
	default:
		return false
	}
}

func action(w *set.Want, v plan.Verb, why ...plan.Reason) plan.Action {
	return plan.Action{Key: w.Key, Version: w.Version, Verb: v, Reasons: why, Digest: w.Digest, Wave: w.Policy.ApplyOrder}
}
