// Package pass is one pass over the objects of one owner. It gathers facts,
// lets package plan decide, does what was decided and records it. It waits for
// nothing. It is a little longer than a package should be, because applying and
// removing share the state of a pass.
package pass

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/internal/book"
	"github.com/weir-dev/weir/pkg/reconciler/internal/deed"
	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/internal/look"
	"github.com/weir-dev/weir/pkg/reconciler/internal/memory"
	"github.com/weir-dev/weir/pkg/reconciler/internal/set"
	"github.com/weir-dev/weir/pkg/reconciler/internal/share"
	"github.com/weir-dev/weir/pkg/reconciler/internal/write"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// lastCommit bounds the commit that ends a pass, which outlives the context of
// the pass.
const lastCommit = 30 * time.Second

// Config is what passes of one reconciler have in common. Every field but
// Metadata, Gone and Observe is set.
type Config struct {
	Style    look.Style
	Prune    policy.Prune
	Create   bool // missing namespaces
	Full     bool // namespaces are deleted with foreign content
	Parallel int
	Metadata client.Reader
	Gone     func(context.Context, object.Key) (bool, error)
	Observe  func(plan.Outcome)
	Now      func() time.Time
}

// Input is what a pass starts from.
type Input struct {
	Client client.Client
	Owner  string
	// Former are field managers that the owner had before.
	Former []policy.Manager
	Wants  []*set.Want // in order of apply
	Base   inventory.Inventory
	Store  inventory.Store
	Memory *memory.Memory
	// Direct reads directives; nil means as the config does.
	Direct func(*unstructured.Unstructured) plan.Directive
	// Released are objects that the owner lets go of.
	Released map[object.Key]bool
	// Signature is what the owner writes on shared objects.
	Signature stamp.Signature
	// KeepStale leaves what is not in the set.
	KeepStale bool
	// Spare says which items stay that are not in the set; nil means none.
	Spare func(*inventory.Item) bool
	// Whole deletes the whole set.
	Whole bool
	// Dry decides and does nothing.
	Dry bool
	// Only are the actions to do, when a plan is executed.
	Only map[object.Key]plan.Action
}

// Output is what a pass did.
type Output struct {
	Done      bool
	Apply     []plan.Outcome
	Remove    []plan.Outcome
	Inventory inventory.Inventory
	Due       time.Duration // until the next reapply; zero for none
}

// pass is the state of a pass. Workers only read it, but for what guards
// itself; what they find is merged one by one when they are finished.
type pass struct {
	*Config
	Input

	look   *look.Look
	do     *deed.Doer
	now    time.Time
	meta   map[object.Key]live.Meta
	ahead  map[object.Key]*unstructured.Unstructured // read before their turn
	fresh  map[object.Key]bool                       // recorded by this pass
	wrong  atomic.Int32                              // guesses
	memory *memory.Recall

	book   *book.Book
	vague  bool                // of some wants not even the scope is known
	spaces map[string]bool     // namespaces that are part of the set
	wanted map[object.Key]bool // what is part of the set, once objects leave
	kept   map[object.Key]bool // containers that stay for what is inside
	out    Output
}

// Apply makes one pass that applies the wants and removes what is no longer
// wanted. The error is that of the store; outcomes carry all others.
func Apply(ctx context.Context, c *Config, in Input) (Output, error) {
	p := start(c, in)
	p.glance(ctx)
	p.intend()
	if err := p.commit(ctx, true); err != nil {
		return p.out, err
	}
	ready, err := p.waves(ctx)
	if err != nil {
		return p.finish(ctx, false, err)
	}
	leaving := p.leaving()
	if len(leaving) > 0 && !p.mayPrune(ready) {
		p.hold(leaving)
		return p.finish(ctx, false, nil)
	}
	gone, err := p.remove(ctx, leaving)
	return p.finish(ctx, ready && gone, err)
}

// Delete makes one pass that removes everything.
func Delete(ctx context.Context, c *Config, in Input) (Output, error) {
	in.Wants, in.Whole = nil, true
	p := start(c, in)
	gone, err := p.remove(ctx, p.leaving())
	return p.finish(ctx, gone && p.book.Len() == 0, err)
}

func start(c *Config, in Input) *pass {
	p := &pass{Config: c, Input: in, now: c.Now(), book: book.Open(in.Base)}
	places := &live.Places{Client: in.Client, Create: c.Create}
	style := c.Style
	style.Signature, style.Former = in.Signature, in.Former
	if in.Direct != nil {
		style.Direct = in.Direct
	}
	p.look = &look.Look{Style: &style, Client: in.Client, Owner: in.Owner, Places: places, Now: p.now}
	p.do = &deed.Doer{Look: p.look, Write: write.Writer{Client: in.Client}}
	p.memory = in.Memory.Of(in.Owner)
	p.out.Apply = make([]plan.Outcome, 0, len(in.Wants))
	p.spaces, p.kept, p.fresh = map[string]bool{}, map[object.Key]bool{}, map[object.Key]bool{}
	for _, w := range in.Wants {
		if w.IsNamespace() {
			p.spaces[w.Name] = true
			places.Set(w.Name, pending(in.Dry))
		}
	}
	return p
}

// pending is the state of a namespace of the set before it is applied.
func pending(dry bool) plan.Place {
	if dry {
		return ""
	}
	return plan.PlacePending
}

// glance lists the metadata of what was written before.
func (p *pass) glance(ctx context.Context) {
	if p.Metadata == nil {
		return
	}
	refs := make([]live.Ref, 0, len(p.Wants))
	for _, w := range p.Wants {
		if p.book.Get(w.Key).State.Written() && !w.Untyped {
			refs = append(refs, live.Ref{Key: w.Key, Version: w.Version})
		}
	}
	sel := p.Style.Stamp.Selector(p.Owner)
	if p.Style.Shared != nil {
		sel = share.Selector(p.Style.Shared)
	}
	p.meta = live.List(ctx, p.Metadata, sel, refs)
}

// intend adds an item for every new object, so that it is tracked before it is
// touched. An object whose key is a guess is not touched.
func (p *pass) intend() {
	for _, w := range p.Wants {
		p.vague = p.vague || w.Guessed
		if !p.book.Has(w.Key) && !w.Guessed {
			p.book.Put(book.Record(w, inventory.Item{Key: w.Key, State: inventory.Intended}))
			p.fresh[w.Key] = true
		}
	}
}

// commit stores the items if they changed. Ahead means that writes follow.
func (p *pass) commit(ctx context.Context, ahead bool) error {
	if !p.book.Dirty || p.Dry {
		return nil
	}
	next := p.book.Inventory()
	v, err := p.Store.Commit(ctx, p.Owner, inventory.Change{Base: p.book.Base, Next: next, Ahead: ahead})
	if err != nil {
		return err
	}
	next.Version = v
	p.book.Base, p.book.Dirty = next, false
	return nil
}

func (p *pass) finish(ctx context.Context, done bool, err error) (Output, error) {
	// What was done is recorded also when the pass was cut short.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCommit)
	defer cancel()
	if e := p.commit(ctx, false); err == nil {
		err = e
	}
	p.out.Done = done && err == nil
	p.out.Inventory = p.book.Inventory()
	return p.out, err
}

// each calls f for 0 to n-1, at most Parallel at a time, and returns when all
// calls have.
func (p *pass) each(n int, f func(int)) {
	workers := min(n, p.Parallel)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

func (p *pass) observe(o plan.Outcome) {
	if p.Observe != nil && !p.Dry && o.Verb != plan.None {
		p.Observe(o)
	}
}
