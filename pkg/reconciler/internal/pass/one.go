package pass

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/internal/field"
	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// tries is how often an object is read and decided again when it changed in
// between.
const tries = 4

// one brings one object of the set closer to what is wanted.
func (p *pass) one(ctx context.Context, w Want) done {
	it := p.items[w.Key]
	if d, ok := p.unchanged(w, it); ok {
		return d
	}
	begin := p.Now()
	for try := 1; ; try++ {
		d, err := p.attempt(ctx, w, it, try == 1)
		var stale *fault.Stale
		if as(err, &stale) && try < tries && p.Only == nil {
			continue
		}
		if err != nil {
			d.Err = err
			d.Reasons = append(d.Reasons, reason(err))
		}
		d.ok = healthy(d.Outcome)
		d.Took = p.Now().Sub(begin)
		return d
	}
}

// unchanged answers for an object that is as it was when it was last found to
// be as wanted. Nothing is read and nothing is hashed.
func (p *pass) unchanged(w Want, it inventory.Item) (done, bool) {
	if it.State == inventory.Purged && it.Digest == w.Digest {
		return done{Outcome: plan.Outcome{Action: p.action(w, plan.None, plan.Completed)}, item: it, ok: true, same: true}, true
	}
	m, ok := p.meta[w.Key]
	if !ok || it.State == inventory.Purging || m.Terminating || m.UID != it.UID || it.Digest != w.Digest || w.Gate != nil || p.reapply(w, it) {
		return done{}, false
	}
	s, ok := p.memory.get(w.Key)
	if !ok || s.uid != m.UID || s.version != m.ResourceVersion || s.digest != w.Digest {
		if it.State != inventory.Ready || it.ResourceVersion != m.ResourceVersion || it.ResourceVersion == "" {
			return done{}, false
		}
		s = sight{health: health.Current}
	}
	o := *plan.Settled(w.Key, s.health, s.message)
	o.Version, o.Digest, o.Wave = w.Version, w.Digest, w.Policy.ApplyOrder
	o.Pre = plan.Precondition{UID: m.UID, ResourceVersion: m.ResourceVersion}
	return done{Outcome: o, item: it, ok: healthy(o), same: true}, true
}

func (p *pass) reapply(w Want, it inventory.Item) bool {
	return w.Policy.Reapply > 0 && w.Policy.Reconcile != policy.Once && it.At.Add(w.Policy.Reapply).Before(p.now)
}

// attempt reads, decides and acts once. The first attempt may take what was
// read ahead.
func (p *pass) attempt(ctx context.Context, w Want, it inventory.Item, first bool) (done, error) {
	d := done{item: it, Outcome: plan.Outcome{Action: p.action(w, plan.Refuse)}}
	t, err := p.gather(ctx, w, it, first)
	if err != nil {
		return d, err
	}
	d.Outcome = plan.Apply(t.facts)
	if planned, ok := p.planned(w.Key, d.Outcome); !ok {
		d.Action = planned
		return d, &fault.Stale{Key: w.Key}
	}
	if p.Dry || !d.Verb.Writes() {
		d.item = p.found(t, d.Outcome, it)
		return d, nil
	}
	return p.act(ctx, t, d)
}

// planned reports whether the outcome is the one that a plan asks for. When no
// plan is executed, any is.
func (p *pass) planned(k object.Key, o plan.Outcome) (plan.Action, bool) {
	if p.Only == nil {
		return plan.Action{}, true
	}
	a, ok := p.Only[k]
	if !ok {
		a = o.Action
		a.Verb, a.Reasons = plan.Refuse, nil
		return a, false
	}
	same := a.Verb == o.Verb && a.Digest == o.Digest && a.Pre == o.Pre
	if !same {
		a.Verb, a.Reasons = plan.Refuse, nil
	}
	return a, same
}

// target is an object of the set as it was gathered.
type target struct {
	want    Want
	facts   plan.Facts
	live    *unstructured.Unstructured
	body    *unstructured.Unstructured // with marks, for the facts at hand
	manager string
	applied bool // by server-side apply
}

// gather reads all that there is to know about an object.
func (p *pass) gather(ctx context.Context, w Want, it inventory.Item, first bool) (*target, error) {
	t := &target{want: w, manager: p.manager(w.Manager)}
	t.facts = plan.Facts{
		Key: w.Key, Version: w.Version, Digest: w.Digest, Policy: w.Policy, Wave: w.Policy.ApplyOrder,
		Item: it, Now: p.now, Shared: p.Shared != nil,
	}
	var err error
	ahead, ok := p.ahead[w.Key]
	if ok && first && !it.State.Written() {
		t.live = ahead
	} else {
		t.live, err = live.Get(ctx, p.Client, w.Key, w.Version)
	}
	switch {
	case errors.Is(err, live.ErrUntyped):
		t.facts.Untyped = true
		return t, nil
	case err != nil:
		return t, err
	}
	if t.live == nil {
		if t.facts.Place, err = p.places.Get(ctx, w.Namespace); err != nil {
			return t, err
		}
	}
	p.look(t)
	if w.Gate != nil {
		open, why, err := w.Gate.Open(ctx, t.live, p.now)
		t.facts.Gate = plan.Gate{Closed: !open, Reason: why, Err: err}
	}
	return t, nil
}

func (p *pass) manager(own string) string {
	if own != "" {
		return own
	}
	return p.Manager
}

// look fills in what the live object says.
func (p *pass) look(t *target) {
	update := t.want.Policy.Update
	if t.live != nil {
		t.facts.Live = p.seen(t.live, t.manager)
		if u := t.facts.Live.Directive.Update; u != "" {
			update = u
		}
	}
	t.applied = update == policy.SsaMerge || update == policy.SsaOverride
	t.facts.Policy.Update = update
	t.body = p.body(t)
	if t.live == nil {
		return
	}
	l := t.facts.Live
	l.Owned = field.Owned(t.body, t.live, t.manager, t.applied)
	l.Contains = field.Contains(t.live.Object, t.body.Object)
	l.Reclaimable = update == policy.SsaOverride && field.Reclaimable(t.live.GetManagedFields(), t.manager, p.Reclaim)
	l.Health, l.Message = p.Health.Analyze(t.live, t.want.Policy.Hints)
	if p.Shared != nil {
		l.Share.Marked = p.marked(t.live, t.want.Marks, l.Share.Peers)
	}
}

// seen returns what can be told of a live object without a manifest.
func (p *pass) seen(u *unstructured.Unstructured, manager string) *plan.Live {
	l := &plan.Live{
		UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Terminating: u.GetDeletionTimestamp() != nil,
	}
	for _, f := range u.GetFinalizers() {
		l.Finalizer = l.Finalizer || f == p.Finalizer
	}
	if p.Shared != nil {
		l.Share = plan.Share{Ours: field.Applies(u, manager), Created: p.Shared.IsCreated(u), Peers: p.peers(u, manager)}
	} else {
		l.Owner = p.Stamp.Read(u, p.Owner)
	}
	if p.Direct != nil {
		l.Directive = p.Direct(u)
	}
	return l
}

// body returns the object to write, with its marks.
func (p *pass) body(t *target) *unstructured.Unstructured {
	body := t.want.Body()
	if p.Shared != nil {
		created := t.live == nil || t.facts.Live.Share.Created ||
			t.facts.Item.Created && t.facts.Item.UID == t.live.GetUID()
		m := p.Shared.Mark(created, t.want.Marks)
		object.Label(body, m.Labels, m.Annotations)
	} else {
		m := p.Stamp.Mark(p.Owner, t.want.Digest)
		object.Label(body, m.Labels, m.Annotations)
	}
	if t.want.DefinesTypes() {
		object.AddFinalizer(body, p.Finalizer)
	}
	return body
}

// found returns the item of an object that was read and not written.
func (p *pass) found(t *target, o plan.Outcome, it inventory.Item) inventory.Item {
	switch {
	case o.Verb == plan.None && len(o.Reasons) > 0 && o.Reasons[0] == plan.Completed:
		it.State, it.UID, it.ResourceVersion = inventory.Purged, "", ""
		p.memory.drop(it.Key)
	case o.Verb == plan.None && len(o.Reasons) > 0 && o.Reasons[0] == plan.NotRecorded:
		return p.written(t, t.live, it, false)
	case o.Verb == plan.None || o.Verb == plan.Wait && t.live != nil && !t.facts.Live.Terminating && t.facts.Live.Owned == it.Owned:
		return p.sighted(t, t.live, it)
	}
	return it
}

// sighted notes that an object is as wanted at its present version.
func (p *pass) sighted(t *target, u *unstructured.Unstructured, it inventory.Item) inventory.Item {
	if u == nil {
		return it
	}
	s, message := p.Health.Analyze(u, t.want.Policy.Hints)
	// A recorded version is one at which the object was ready.
	it.ResourceVersion = ""
	if s == health.Current {
		it.ResourceVersion = u.GetResourceVersion()
		if it.State == inventory.Applied {
			it.State = inventory.Ready
		}
	}
	p.memory.set(it.Key, sight{uid: u.GetUID(), version: u.GetResourceVersion(), digest: t.want.Digest, health: s, message: message})
	return it
}
