package reconcilertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
)

var (
	errDead  = errors.New("the process is dead")
	errFault = errors.New("the connection broke")
)

// run is one run of a scenario.
type run struct {
	Scenario
	fault  fault
	world  World
	client client.Client
	memory inventory.Memory // survives the processes, if the scenario has no store
	others Recorder

	mu       sync.Mutex
	all      []*process          // the dead ones too
	known    inventory.Inventory // as the present process knows it
	struck   string              // the call at which the fault happened
	problems []error
}

// run runs the scenario once, with that fault, and removes what it left. The
// record is never nil.
func (g *grounds) run(ctx context.Context, s Scenario, f fault) (*record, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := &run{Scenario: s, fault: f, client: g.client}
	var err error
	if r.world, err = g.take(ctx); err != nil {
		return &record{}, err
	}
	r.world.Client = r.others.Client(g.client)
	err = r.steps(ctx)
	rec := r.record(ctx)
	err = errors.Join(err, errors.Join(r.problems...))
	if left := r.clean(ctx); left != nil {
		return rec, errors.Join(err, left)
	}
	g.back(r.world)
	return rec, err
}

// steps tells the story, in as many processes as it takes.
func (r *run) steps(ctx context.Context) error {
	p := r.start(ctx, r.fault)
	for i, step := range r.Steps {
		if step.Before != nil {
			if err := step.Before(ctx, r.world); err != nil {
				return fmt.Errorf("step %d, before: %w", i+1, err)
			}
		}
		if err := r.step(ctx, step, &p); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if last := i == len(r.Steps)-1; last || r.fault.call == 0 {
			if err := r.steady(ctx, step); err != nil {
				return fmt.Errorf("step %d, once more: %w", i+1, err)
			}
		}
	}
	return nil
}

// step repeats passes until the step ends. A process that dies is followed by
// another.
func (r *run) step(ctx context.Context, step Step, p **process) error {
	wait := firstWait
	for {
		begun := len((*p).recorder.Calls())
		res, err := (*p).pass(step)
		if (*p).dead() {
			r.tracked(ctx)
			*p = r.start(ctx, fault{})
			continue
		}
		if step.ends(res, err) && (step.Until == nil || (*p).idle(begun)) {
			return nil
		}
		if step.Between != nil {
			if err := step.Between(ctx, r.world); err != nil {
				return fmt.Errorf("between: %w", err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the last pass: %w%s", context.Cause(ctx), orDone(err), outcomes(res))
		case <-time.After(wait):
		}
		wait = min(wait*3/2+firstWait, mostWait)
	}
}

func (s Step) ends(res *reconciler.Result, err error) bool {
	if s.Until != nil {
		return s.Until(res, err)
	}
	return err == nil && res.Done
}

// steady checks that a process that knows nothing has nothing to do.
func (r *run) steady(ctx context.Context, step Step) error {
	p := r.start(ctx, fault{})
	res, err := p.pass(step)
	if !step.ends(res, err) {
		return fmt.Errorf("not done: %w%s", orDone(err), outcomes(res))
	}
	for _, c := range p.recorder.Calls() {
		if c.Writes() || c.Verb == "commit" {
			return fmt.Errorf("nothing is left to do, but it makes the call %s%s", c, outcomes(res))
		}
	}
	return nil
}

// errDone stands for no error where there must be one.
var errDone = errors.New("no error")

func orDone(err error) error {
	if err == nil {
		return errDone
	}
	return err
}

// idle reports whether the calls from the given one on changed nothing and
// worked.
func (p *process) idle(from int) bool {
	for _, c := range p.recorder.Calls()[from:] {
		if c.Writes() || c.Verb == "commit" {
			return false
		}
	}
	return !p.struck.Load()
}

// outcomes returns what a pass did, for people.
func outcomes(res *reconciler.Result) string {
	if res == nil {
		return ""
	}
	var b strings.Builder
	for _, o := range res.Outcomes {
		fmt.Fprintf(&b, "\n\t%s: %s %v", o.Key, o.Verb, o.Reasons)
		if o.Err != nil {
			fmt.Fprintf(&b, ": %v", o.Err)
		}
	}
	return b.String()
}

// process is a reconciler from its start to its death.
type process struct {
	run        *run
	ctx        context.Context
	die        context.CancelCauseFunc
	fault      fault
	recorder   *Recorder
	store      inventory.Store
	reconciler *reconciler.Reconciler
	struck     atomic.Bool // in the present pass
}

// open returns a store that knows only what is committed.
func (r *run) open(c client.Client) inventory.Store {
	if r.Store == nil {
		return &r.memory
	}
	return r.Store(c, r.world)
}

// committed returns the inventory that a new process would find.
func (r *run) committed(ctx context.Context) inventory.Inventory {
	v, err := r.open(r.client).Load(ctx, r.owner())
	if err != nil {
		r.problem("loading the inventory: %w", err)
	}
	return v
}

func (r *run) start(ctx context.Context, f fault) *process {
	p := &process{run: r, fault: f}
	p.ctx, p.die = context.WithCancelCause(ctx)
	p.recorder = &Recorder{Before: p.before, After: p.after}
	c := p.recorder.Client(r.client)
	p.store = &checked{p.recorder.Store(r.open(c)), r}
	p.reconciler = reconciler.NewReconciler(r.Name, c, r.Options)
	r.mu.Lock()
	r.all = append(r.all, p)
	r.mu.Unlock()
	return p
}

func (p *process) dead() bool { return errors.Is(context.Cause(p.ctx), errDead) }

func (p *process) before(_ context.Context, c Call) error {
	if p.dead() {
		return errDead
	}
	if p.fault.call == c.N {
		p.struck.Store(true)
		p.run.mu.Lock()
		p.run.struck = c.String()
		p.run.mu.Unlock()
		if p.fault.how == failBefore {
			return errFault
		}
		if p.fault.how == killBefore {
			p.die(errDead)
			return errDead
		}
	}
	p.run.called(c)
	return nil
}

func (p *process) after(_ context.Context, c Call) error {
	switch {
	case p.fault.call != c.N:
	case p.fault.how == failAfter:
		return errFault
	case p.fault.how == killAfter:
		p.die(errDead)
		return errDead
	}
	return c.Err
}

// pass makes one pass and checks what it says about itself.
func (p *process) pass(step Step) (*reconciler.Result, error) {
	q := reconciler.Request{}
	if step.Request != nil {
		q = step.Request(p.run.world)
	}
	if q.Owner.ID == "" {
		q.Owner.ID = p.run.world.Name
	}
	q.Store = p.store
	if q.Namespace == "" {
		q.Namespace = p.run.world.Namespace
	}
	p.struck.Store(false)
	pass := p.reconciler.Apply
	if step.Request == nil {
		pass = p.reconciler.Delete
	}
	res, err := pass(p.ctx, q)
	if res != nil {
		for _, o := range res.Outcomes {
			if o.Verb.Writes() && len(o.Reasons) == 0 {
				p.run.problem("%s was planned for %s without a reason", o.Verb, o.Key)
			}
		}
	}
	return res, err
}
