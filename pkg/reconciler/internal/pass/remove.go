package pass

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/pkg/reconciler/internal/deed"
	"github.com/weir-dev/weir/pkg/reconciler/internal/leave"
	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// leaving returns the items that are no longer wanted, in the order in which
// they go.
func (p *pass) leaving() []leave.Item {
	if p.book.Len() == len(p.Wants) && len(p.Released) == 0 && !p.vague {
		return nil // every want has an item
	}
	p.wanted = make(map[object.Key]bool, len(p.Wants))
	for _, w := range p.Wants {
		p.wanted[w.Key] = true
	}
	var types []policy.Type
	var list []inventory.Item
	for it := range p.book.All() {
		types = append(types, it.Types...)
		if !p.wanted[it.Key] && (p.Released[it.Key] || !p.spares(it)) {
			list = append(list, *it)
		}
	}
	return leave.Order(list, types)
}

// hold reports what is not removed yet.
func (p *pass) hold(list []leave.Item) {
	for i := range list {
		l := &list[i]
		p.removed(l, done{Outcome: plan.Outcome{Action: farewell(l, plan.Wait, plan.NotInSet, plan.WaveNotReached)}, item: l.Item})
	}
}

// spares reports whether an item stays that is not in the set.
func (p *pass) spares(it *inventory.Item) bool {
	return p.KeepStale || p.Spare != nil && p.Spare(it)
}

func farewell(l *leave.Item, v plan.Verb, why ...plan.Reason) plan.Action {
	return plan.Action{Key: l.Key, Version: l.Version, Verb: v, Reasons: why, Wave: l.Wave}
}

// remove removes what leaves, wave by wave, and reports whether all is gone.
func (p *pass) remove(ctx context.Context, list []leave.Item) (bool, error) {
	if len(list) == 0 {
		return true, nil
	}
	p.protect(list)
	if err := p.commit(ctx, true); err != nil {
		return false, err
	}
	var q leave.Queue
	for len(list) > 0 {
		n := leave.Group(list)
		first := &list[0]
		if why := q.Enter(first); why != "" && !p.Dry {
			p.wait(list[:n], why)
			q.Pass(first, false)
		} else {
			q.Pass(first, p.farewells(ctx, list[:n]))
		}
		list = list[n:]
	}
	return q.Empty(), ctx.Err()
}

func (p *pass) wait(list []leave.Item, why plan.Reason) {
	for i := range list {
		l := &list[i]
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
func (p *pass) protect(list []leave.Item) {
	for i := range list {
		if l := &list[i]; !l.Policy.Delete.Keeps(p.Whole) && p.holdsKept(l, list) {
			l.Item = p.book.Keep(l.Key)
			p.kept[l.Key] = true
		}
	}
}

// holdsKept reports whether something inside the container stays.
func (p *pass) holdsKept(container *leave.Item, list []leave.Item) bool {
	if !container.IsNamespace() && !container.DefinesTypes() {
		return false
	}
	return slices.ContainsFunc(list, func(l leave.Item) bool {
		return container.Holds(l.Key) && (p.Released[l.Key] || l.Policy.Delete.Keeps(p.Whole)) && l.State != inventory.Purged
	})
}

// farewells removes what does not depend on each other.
func (p *pass) farewells(ctx context.Context, list []leave.Item) bool {
	results := make([]done, len(list))
	for i := range list {
		list[i].Item = p.book.Get(list[i].Key) // it may have become one that stays
	}
	p.each(len(list), func(i int) { results[i] = p.bye(ctx, &list[i]) })
	all := true
	for i, d := range results {
		p.removed(&list[i], d)
		all = all && d.gone
	}
	return all
}

func (p *pass) removed(l *leave.Item, d done) {
	switch {
	case d.gone:
		p.book.Drop(l.Key)
		p.memory.Drop(l.Key)
		if has(d.Outcome, plan.KeptByDirective) {
			p.keep(l.Key)
		}
	case l.State != d.item.State:
		it := p.book.Get(l.Key)
		it.State = d.item.State
		p.book.Put(it)
	}
	p.out.Remove = append(p.out.Remove, d.Outcome)
	p.observe(d.Outcome)
}

// keep keeps the containers of an object that is kept.
func (p *pass) keep(k object.Key) {
	var containers []object.Key
	for it := range p.book.All() {
		if it.Holds(k) {
			containers = append(containers, it.Key)
		}
	}
	for _, c := range containers {
		p.book.Keep(c)
		p.kept[c] = true
	}
}

// bye removes one object, as far as that can be done now.
func (p *pass) bye(ctx context.Context, l *leave.Item) done {
	return p.retry(func(bool) (done, error) { return p.part(ctx, l) })
}

func (p *pass) part(ctx context.Context, l *leave.Item) (done, error) {
	d := done{item: l.Item, Outcome: plan.Outcome{Action: farewell(l, plan.Refuse, p.why())}}
	f := plan.Facts{
		Key: l.Key, Version: l.Version, Policy: l.Policy, Wave: l.Wave, Item: l.Item,
		Now: p.now, Shared: p.Style.Shared != nil, Whole: p.Whole, Released: p.Released[l.Key],
	}
	u, err := p.seek(ctx, l)
	switch {
	case errors.Is(err, live.ErrUntyped):
		if f.Untyped, err = p.extinct(ctx, l); !f.Untyped {
			return d, err
		}
	case err != nil:
		return d, err
	case u != nil:
		f.Live = p.look.Seen(u, p.look.ManagerOf(l.Manager))
		f.Item = f.Identified()
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

// seek reads an object that leaves, nil if it is gone.
func (p *pass) seek(ctx context.Context, l *leave.Item) (*unstructured.Unstructured, error) {
	if p.Gone != nil {
		if gone, err := p.Gone(ctx, l.Key); gone || err != nil {
			return nil, err
		}
	}
	return live.Get(ctx, p.Client, l.Key, l.Version)
}

// extinct reports whether a kind that the client does not know is really gone.
// What the client knows may be out of date, and to forget an object on that
// word would leak it.
func (p *pass) extinct(ctx context.Context, l *leave.Item) (bool, error) {
	defined, err := live.Defined(ctx, p.Client, l.GroupKind())
	if defined && err == nil {
		err = fmt.Errorf("%s: %w, although it is defined", l.Key, live.ErrUntyped)
	}
	return err == nil, err
}

// dispatch does what was decided for an object that goes.
func (p *pass) dispatch(ctx context.Context, l *leave.Item, u *unstructured.Unstructured, d done) (done, error) {
	var err error
	doing, manager := writing, p.look.ManagerOf(l.Manager)
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
		doing = "deleting"
		d.gone, err = p.do.Destroy(ctx, u)
	case plan.Finalize:
		err = p.do.Finalize(ctx, u)
	default:
	}
	if err == nil && !d.gone && d.Err == nil && d.Verb != plan.Skip {
		d.item.State = inventory.Leaving
	}
	if err != nil {
		err = deed.Fault(doing, u, manager, err)
	}
	return d, err
}
