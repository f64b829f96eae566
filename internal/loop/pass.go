package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/internal/step"
)

// grace is how long the last write may take after the time for the pass ran
// out: what was done must be known to the next one.
const grace = 10 * time.Second

// Pass is what the steps of one pass tell the loop, and the other way round.
type Pass struct {
	// Settled reports whether the last pass over this generation came to its
	// end with success. If not, whatever it began must be taken up again, even
	// when all looks as if nothing had changed.
	Settled bool
	// Requested reports whether somebody asked for this pass.
	Requested bool
	// Metadata go with the event about the end of the pass. Steps may set it.
	Metadata map[string]string

	begun   bool
	begin   func(ctx context.Context, message string) error
	record  func(ctx context.Context) error
	message string
}

// Begin says that real work starts: it writes the status as the steps have
// made it so far, such as an inventory of what they are about to create, and
// that the object is being worked on. Once it succeeded further calls do
// nothing. The steps return its error: nothing may be changed before this is
// known.
func (p *Pass) Begin(ctx context.Context, message string) error {
	if p.begun {
		return nil
	}
	if err := p.begin(ctx, message); err != nil {
		return err
	}
	p.begun = true
	return nil
}

// Record writes the status as the steps have made it so far, once more if the
// work has begun.
func (p *Pass) Record(ctx context.Context, message string) error {
	if !p.begun {
		return p.Begin(ctx, message)
	}
	return p.record(ctx)
}

// Succeed sets the message for the case that the pass ends with success.
// Without one, that of the last success stays.
func (p *Pass) Succeed(format string, args ...any) { p.message = fmt.Sprintf(format, args...) }

// run is one pass over one object.
type run[T Object] struct {
	*Loop[T]
	pass Pass

	obj       T                  // what the steps see and change
	was       []metav1.Condition // at the beginning
	requested string

	// What the API server is known to have.
	version string
	status  []byte
}

func newRun[T Object](l *Loop[T], obj T) (*run[T], error) {
	status, err := statusOf(obj)
	if err != nil {
		return nil, err
	}
	r := &run[T]{
		Loop: l, obj: obj, was: obj.GetConditions(), requested: obj.GetAnnotations()[cmp.Or(l.Kind.Request, requestedAt)],
		version: obj.GetResourceVersion(), status: status,
	}
	r.pass = Pass{
		Settled:   isSettled(r.was, obj.GetGeneration()),
		Requested: r.requested != "" && (l.Kind.Handled == nil || r.requested != *l.Kind.Handled(obj)),
		begin:     r.begin,
		record:    func(ctx context.Context) error { return r.writeStatus(ctx, false) },
	}
	return r, nil
}

func (r *run[T]) deleting() bool { return !r.obj.GetDeletionTimestamp().IsZero() }

func (r *run[T]) begin(ctx context.Context, message string) error {
	if r.Kind.Needed != nil && !r.deleting() && !slices.Contains(r.obj.GetFinalizers(), r.Kind.Finalizer) {
		if err := r.setFinalizer(ctx, true); err != nil {
			return err
		}
	}
	r.obj.SetConditions(announce(r.was, r.obj.GetGeneration(), message, cmp.Or(r.Kind.Working, progressing), r.pass.Requested))
	return r.writeStatus(ctx, false)
}

// suspended acknowledges requests, so that nobody waits for an answer, and
// touches nothing else. What resumes the object also wakes it.
func (r *run[T]) suspended(ctx context.Context) (reconcile.Result, error) {
	r.acknowledge()
	r.obj.SetConditions(suspend(r.was, r.obj.GetGeneration()))
	err := r.writeStatus(ctx, true)
	if err == nil {
		err = r.settleMetadata(ctx)
	}
	return r.queue(ctx, ending{}, err)
}

func (r *run[T]) acknowledge() {
	if r.requested != "" && r.Kind.Handled != nil {
		*r.Kind.Handled(r.obj) = r.requested
	}
}

// finalize removes what the object stands for and lets it go.
func (r *run[T]) finalize(ctx context.Context) (reconcile.Result, error) {
	if err := r.work(ctx, r.Kind.Finalize); err != nil {
		return r.end(ctx, err)
	}
	err := r.setFinalizer(ctx, false)
	if err == nil {
		r.setFinalized(client.ObjectKeyFromObject(r.obj), r.obj.GetUID())
	}
	return r.queue(ctx, ending{}, err)
}

// work runs the steps. A panic of theirs is an error like others.
func (r *run[T]) work(ctx context.Context, steps func(T, *Pass) []step.Step) (err error) {
	if steps == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			log.FromContext(ctx).Error(nil, "panic", "panic", v, "stack", string(debug.Stack()))
			what, _, _ := strings.Cut(fmt.Sprint(v), "\n")
			err = fmt.Errorf("internal error: %s", what)
		}
	}()
	return step.Runner{Observe: r.Observe}.Run(ctx, steps(r.obj, &r.pass)...)
}

// end makes the error of the steps known: to users by the status, in one
// write, and by an event; to the queue; and to the log.
func (r *run[T]) end(ctx context.Context, err error) (reconcile.Result, error) {
	e := decide(err, facts{
		message:     r.success(),
		interval:    r.interval(r.obj),
		deleting:    r.deleting(),
		interrupted: errors.Is(ctx.Err(), context.Canceled),
		conflicts:   r.inARow(client.ObjectKeyFromObject(r.obj)),
	})
	if !e.unfinished {
		r.obj.SetConditions(e.conditions(r.obj.GetConditions(), r.obj.GetGeneration()))
		r.acknowledge()
	}
	// What a pass without an end meant to do, but did not begin, is not written.
	if r.pass.begun || !e.unfinished {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		err := r.writeStatus(last, true)
		if err == nil && !e.unfinished {
			err = r.settleMetadata(last)
		}
		if err != nil {
			return r.queue(ctx, e, err)
		}
	}
	r.tell(ctx, e, err)
	return r.queue(ctx, e, nil)
}

// success returns the message of a pass that ends with success.
func (r *run[T]) success() string {
	is := meta.FindStatusCondition(r.was, ready)
	switch {
	case r.pass.message != "":
		return r.pass.message
	case r.pass.Settled:
		return is.Message
	default:
		return "reconciliation succeeded"
	}
}

// tell records an event when the end is news, and logs what is none: events are
// logged by who takes them. That all is well is news for alerts only after
// something was wrong.
func (r *run[T]) tell(ctx context.Context, e ending, err error) {
	logger := log.FromContext(ctx)
	news := r.pass.begun || !r.pass.Settled
	switch {
	case e.unfinished:
		logger.V(1).Info("the pass will be made again", "cause", err.Error())
		return
	case err == nil && news:
	case err == nil:
		logger.V(1).Info(e.message)
	default:
		if e.err == nil { // The queue logs what it gets.
			logger.Info("not reconciled", "reason", e.reason, "stalled", e.stalled, "cause", named(err).Error())
		}
		news = !r.hadFailed(e)
	}
	if news && r.Events != nil {
		r.Events.Record(r.obj, Event{
			Warning: err != nil, Trace: err == nil && !meta.IsStatusConditionFalse(r.was, ready), Reason: e.reason, Message: bounded(e.message),
			Action: r.action(err, e.reason), Metadata: r.pass.Metadata,
		})
	}
}

// action returns what was being done when the error came up.
func (r *run[T]) action(err error, reason string) string {
	at, ok := errors.AsType[*step.Error](err)
	if !ok {
		return ""
	}
	return cmp.Or(r.Kind.Actions[at.Step], r.Kind.Actions[reason])
}

// hadFailed reports whether the pass before ended like this one.
func (r *run[T]) hadFailed(e ending) bool {
	is := meta.FindStatusCondition(r.was, ready)
	return is != nil && is.Status == metav1.ConditionFalse && is.ObservedGeneration == r.obj.GetGeneration() &&
		is.Reason == e.reason && is.Message == bounded(e.message)
}

// queue says when the next pass is, or how the queue learns that it should
// back off. The error is that of the last write.
func (r *run[T]) queue(ctx context.Context, e ending, err error) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(r.obj)
	if isConflict(err) && r.inARow(key) < maxConflicts {
		log.FromContext(ctx).V(1).Info("the pass will be made again", "cause", err.Error())
		e = ending{unfinished: true, conflict: true, after: pause}
	} else if err != nil {
		e = ending{err: client.IgnoreNotFound(err)}
	}
	r.conflicted(key, e.conflict)
	if e.err != nil {
		return reconcile.Result{}, named(e.err)
	}
	return reconcile.Result{RequeueAfter: e.after}, nil
}

// named puts the name of the step before the message, for the log.
func named(err error) error {
	if at, ok := errors.AsType[*step.Error](err); ok {
		return fmt.Errorf("%s: %w", at.Step, err)
	}
	return err
}
