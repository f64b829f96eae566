package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/pkg/reconciler/internal/deed"
	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/internal/order"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// leaver is an item that is no longer wanted.
type leaver struct {
	inventory.Item

	managed bool // of a kind that the inventory defines
	wave    int
}

// leaving returns the items that are no longer wanted, in the order in which
// they go.
func (p *pass) leaving() []leaver {
	if len(p.items) == len(p.Wants) && len(p.Released) == 0 && !p.vague {
		return nil // every want has an item
	}
	p.wanted = make(map[object.Key]bool, len(p.Wants))
	for _, w := range p.Wants {
		p.wanted[w.Key] = true
	}
	var types []policy.Type
	var list []leaver
	for _, it := range p.items {
		types = append(types, it.Types...)
		if !p.wanted[it.Key] && (!p.KeepStale || p.Released[it.Key]) {
			list = append(list, leaver{Item: *it})
		}
	}
	for i := range list {
		l := &list[i]
		l.managed = slices.ContainsFunc(types, func(t policy.Type) bool { return t.Matches(l.GroupKind()) })
		l.wave = l.Policy.DeleteOrder
		if l.IsNamespace() || l.DefinesTypes() { // never before what is inside
			for _, o := range list {
				if inside(&l.Item, o.Key) {
					l.wave = max(l.wave, o.Policy.DeleteOrder)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b leaver) int {
		return cmp.Or(cmp.Compare(a.wave, b.wave),
			-cmp.Compare(b2i(a.managed), b2i(b.managed)),
			cmp.Compare(order.Remove(a.GroupKind()), order.Remove(b.GroupKind())),
			a.Compare(b.Key))
	})
	return list
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hold reports what is not removed yet.
func (p *pass) hold(list []leaver) {
	for _, l := range list {
		p.removed(l, done{Outcome: plan.Outcome{Action: farewell(l, plan.Wait, plan.NotInSet, plan.WaveNotReached)}, item: l.Item})
	}
}

func farewell(l leaver, v plan.Verb, why ...plan.Reason) plan.Action {
	return plan.Action{Key: l.Key, Version: l.Version, Verb: v, Reasons: why, Wave: l.wave}
}

// remove removes what leaves, wave by wave, and reports whether all is gone.
func (p *pass) remove(ctx context.Context, list []leaver) (bool, error) {
	if len(list) == 0 {
		return true, nil
	}
	p.protect(list)
	if err := p.commit(ctx, true); err != nil {
		return false, err
	}
	q := queue{wave: list[0].wave, all: true, open: true, managed: true}
	for from := 0; from < len(list); {
		first, to := list[from], from
		for to < len(list) && same(list[to], first) {
			to++
		}
		if why := q.enter(first); why != "" && !p.Dry {
			p.wait(list[from:to], why)
			q.pass(first, false)
		} else {
			q.pass(first, p.farewells(ctx, list[from:to]))
		}
		from = to
	}
	return q.all, ctx.Err()
}

// queue lets what leaves go wave by wave, and objects of kinds that the
// inventory defines before others.
type queue struct {
	wave    int
	all     bool // everything so far is gone
	open    bool // every earlier wave is gone
	managed bool // every object of a defined kind in this wave is gone
}

// enter returns why an object may not go yet.
func (q *queue) enter(l leaver) plan.Reason {
	if l.wave != q.wave {
		q.wave, q.open, q.managed = l.wave, q.open && q.all, true
	}
	switch {
	case !q.open:
		return plan.WaveNotReached
	case !l.managed && !q.managed:
		return plan.DependencyPending
	}
	return ""
}

func (q *queue) pass(l leaver, gone bool) {
	q.all = q.all && gone
	q.managed = q.managed && (gone || !l.managed)
}

func same(a, b leaver) bool {
	return a.wave == b.wave && a.managed == b.managed &&
		order.Remove(a.GroupKind()) == order.Remove(b.GroupKind())
}

func (p *pass) wait(list []leaver, why plan.Reason) {
	for _, l := range list {
		p.removed(l, done{Outcome: plan.Outcome{Action: farewell(l, plan.Wait, p.why(), why)}, item: l.Item})
	}
}

func (p *pass) why() plan.Reason {
	if p.Whole {
		return plan.SetDeleted
	}
	return plan.NotInSet
}

// protect turns containers with content that is kept into ones that are kept
// themselves, and records that before the content is forgotten.
func (p *pass) protect(list []leaver) {
	for i, l := range list {
		if l.Policy.Delete.Keeps(p.Whole) || !p.holdsKept(l, list) {
			continue
		}
		list[i].Item = p.keepItem(p.items.get(l.Key))
	}
}

// keepItem makes an item one that stays in the end.
func (p *pass) keepItem(it inventory.Item) inventory.Item {
	it.Policy.Delete = policy.Orphan
	p.store(it)
	p.kept[it.Key] = true
	return it
}

// holdsKept reports whether something inside the container stays.
func (p *pass) holdsKept(container leaver, list []leaver) bool {
	if !container.IsNamespace() && !container.DefinesTypes() {
		return false
	}
	return slices.ContainsFunc(list, func(l leaver) bool {
		return inside(&container.Item, l.Key) && (p.Released[l.Key] || l.Policy.Delete.Keeps(p.Whole)) && l.State != inventory.Purged
	})
}

// farewells removes what does not depend on each other.
func (p *pass) farewells(ctx context.Context, list []leaver) bool {
	results := make([]done, len(list))
	for i := range list {
		list[i].Item = p.items.get(list[i].Key) // it may have become one that stays
	}
	p.each(len(list), func(i int) { results[i] = p.bye(ctx, list[i]) })
	all := true
	for i, d := range results {
		p.removed(list[i], d)
		all = all && d.gone
	}
	return all
}

func (p *pass) removed(l leaver, d done) {
	switch {
	case d.gone:
		delete(p.items, l.Key)
		p.dirty = true
		p.memory.drop(l.Key)
		if has(d.Outcome, plan.KeptByDirective) {
			p.keep(l.Key)
		}
	case l.State != d.item.State:
		it := p.items.get(l.Key)
		it.State = d.item.State
		p.store(it)
	}
	p.out.Remove = append(p.out.Remove, d.Outcome)
	p.observe(d.Outcome)
}

// keep keeps the containers of an object that is kept.
func (p *pass) keep(k object.Key) {
	for _, it := range p.items {
		if inside(it, k) {
			p.keepItem(*it)
		}
	}
}

// bye removes one object, as far as that can be done now.
func (p *pass) bye(ctx context.Context, l leaver) done {
	return p.retry(func(bool) (done, error) { return p.part(ctx, l) })
}

func (p *pass) part(ctx context.Context, l leaver) (done, error) {
	d := done{item: l.Item, Outcome: plan.Outcome{Action: farewell(l, plan.Refuse, p.why())}}
	f := plan.Facts{
		Key: l.Key, Version: l.Version, Policy: l.Policy, Wave: l.wave, Item: l.Item,
		Now: p.now, Shared: p.Style.Shared != nil, Whole: p.Whole, Released: p.Released[l.Key],
	}
	u, err := live.Get(ctx, p.Client, l.Key, l.Version)
	switch {
	case errors.Is(err, live.ErrUntyped):
		if f.Untyped, err = p.extinct(ctx, l); !f.Untyped {
			return d, err
		}
	case err != nil:
		return d, err
	case u != nil:
		f.Live = p.look.Seen(u, p.look.ManagerOf(l.Manager))
		if f.Content, err = p.content(ctx, l); err != nil {
			return d, err
		}
	}
	d.Outcome = plan.Remove(f)
	if err := p.planned(&d); err != nil || p.Dry {
		return d, err
	}
	return p.dispatch(ctx, l, u, d)
}

// extinct reports whether a kind that the client does not know is really gone.
// What the client knows may be out of date, and to forget an object on that
// word would leak it.
func (p *pass) extinct(ctx context.Context, l leaver) (bool, error) {
	defined, err := live.Defined(ctx, p.Client, l.GroupKind())
	if defined && err == nil {
		err = fmt.Errorf("%s: %w, although it is defined", l.Key, live.ErrUntyped)
	}
	return err == nil, err
}

// dispatch does what was decided for an object that goes.
func (p *pass) dispatch(ctx context.Context, l leaver, u *unstructured.Unstructured, d done) (done, error) {
	var err error
	manager := p.look.ManagerOf(l.Manager)
	switch d.Verb {
	case plan.Forget:
		d.gone = true
	case plan.Release:
		err = p.do.Release(ctx, u, manager)
		d.gone = err == nil
	case plan.Leave:
		err = p.do.Leave(ctx, u, manager)
		d.gone = err == nil
	case plan.Delete:
		d.gone, err = p.do.Destroy(ctx, u)
	case plan.Finalize:
		err = p.do.Finalize(ctx, u)
	default:
	}
	if err == nil && !d.gone && d.Err == nil && d.Verb != plan.Skip {
		d.item.State = inventory.Leaving
	}
	if err != nil {
		err = deed.Fault(u, manager, err)
	}
	return d, err
}
