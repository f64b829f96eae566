// Package loop is the shell around the steps of every controller: it reads the
// object, keeps its finalizer, honours suspension and requests, turns the
// error of the steps into conditions, writes the status and says when to come
// back. It knows nothing of what the steps do, and starts no controller.
//
// Of fluxcd/pkg/runtime it needs nothing: its patcher writes the status in
// several requests, its conditions want an interface of their own, and its
// jitter is global.
package loop

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/internal/step"
)

// requestedAt is the annotation that asks for a pass whenever its value
// changes.
const requestedAt = "reconcile.fluxcd.io/requestedAt"

// minInterval is the shortest interval: objects that ask for less would be
// worked on without end.
const minInterval = 10 * time.Second

// Object is an object with conditions in its status.
type Object interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// Kind is what the loop has to know of a kind of object.
type Kind[T Object] struct {
	// New returns an empty object.
	New func() T
	// Finalizer keeps an object until Finalize is done with it.
	Finalizer string
	// Needed reports whether an object has to be kept, by its status at the end
	// of a pass: its finalizer is then set only when work begins, or before the
	// steps if it is needed already, and taken off when it is not needed any more.
	// Nil means always.
	Needed func(T) bool
	// Obsolete are finalizers of predecessors; they are taken off.
	Obsolete []string
	// Request is the annotation that asks for a pass whenever its value changes;
	// empty means Flux's.
	Request string
	// Handled returns the field of the status for the request that was last
	// acted on. Nil means that the annotation is taken off instead.
	Handled func(T) *string
	// Interval returns the time between two passes. Less than ten seconds
	// counts as that.
	Interval func(T) time.Duration
	// Unbounded takes intervals as they are; zero means that passes are not made
	// by the clock.
	Unbounded bool
	// Working is the reason of Ready while work is under way; empty means
	// Progressing.
	Working string
	// Conditions returns further conditions of an object, which are written with
	// the status; nil means none.
	Conditions func(T) []metav1.Condition
	// Suspended reports whether the object is to be left alone; nil means
	// never. One that is being deleted is finalized all the same.
	Suspended func(T) bool
	// Steps returns the work of one pass. The steps may change the status of
	// the object, but for the conditions, and nothing else of it; what they
	// changed is written with the conditions.
	Steps func(T, *Pass) []step.Step
	// Finalize returns the work before the object goes; nil means none.
	Finalize func(T, *Pass) []step.Step
	// Actions are the [Event.Action] of events about failures, by the name of the
	// step or else by the reason. Those of others and of success have the usual
	// one.
	Actions map[string]string
}

// Event is something that users may want to be told.
type Event struct {
	// Warning tells trouble from good news.
	Warning bool
	// Trace is for those who look at the object; it is no news for those who
	// are alerted.
	Trace  bool
	Reason string
	// Message is that of a condition and as long as one: whoever sends it
	// shortens it to what fits.
	Message string
	// Action is what was being done, in one CamelCase word; empty means
	// Reconcile.
	Action string
	// Metadata is for machines, such as the revision that the event is about;
	// nil means none. It does not change after the call.
	Metadata map[string]string
}

// Events takes events about objects, and logs them. It must not block.
type Events interface {
	Record(about client.Object, e Event)
}

// Loop reconciles the objects of a kind. It must not be copied after its first
// use; concurrent calls for different objects are safe.
type Loop[T Object] struct {
	Kind Kind[T]
	// Client reads and writes the objects. If it reads from a cache, it must
	// see its own writes (client.CacheOptions.EnableReadYourWritesConsistency):
	// a pass that compares with a status that was replaced in the meantime may
	// miss that there is something to write.
	Client client.Client
	// Live reads from the API server; nil means Client.
	Live client.Reader
	// Events is told how passes end, when that is news; nil means nobody is.
	Events Events
	// Jitter spreads intervals; nil means it does not. See [Jitter].
	Jitter func(time.Duration) time.Duration
	// Observe sees each step, as [step.Runner.Observe]; nil means nobody does.
	Observe func(name string, took time.Duration, err error)

	mu        sync.Mutex
	conflicts map[types.NamespacedName]int       // passes in a row that ended in one
	finalized map[types.NamespacedName]types.UID // until they are seen to be gone
}

var _ reconcile.Reconciler = (*Loop[Object])(nil)

// Reconcile makes one pass over an object. It implements
// [reconcile.Reconciler].
func (l *Loop[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	obj := l.Kind.New()
	if err := l.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		l.conflicted(req.NamespacedName, false)
		l.setFinalized(req.NamespacedName, "")
		if client.IgnoreNotFound(err) == nil {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("reading the object: %w", err)
	}
	r, err := newRun(l, obj)
	if err != nil {
		return reconcile.Result{}, err
	}
	mine := controllerutil.ContainsFinalizer(obj, l.Kind.Finalizer) && !l.isFinalized(obj)
	switch {
	case r.deleting() && (mine || r.hasObsolete()):
		return r.finalize(ctx)
	case r.deleting():
		return reconcile.Result{}, nil
	case l.Kind.Suspended != nil && l.Kind.Suspended(obj):
		return r.suspended(ctx)
	case !mine && (l.Kind.Needed == nil || l.Kind.Needed(obj)):
		// What the steps create must never be without someone to remove it. It can
		// be recorded already, by a pass that could not set the finalizer.
		if err := r.setFinalizer(ctx, true); err != nil {
			return r.end(ctx, err)
		}
	}
	return r.end(ctx, r.work(ctx, l.Kind.Steps))
}

// setFinalized notes that an object may go. What was removed with it wakes it,
// maybe before a cache knows that it has no finalizer any more.
func (l *Loop[T]) setFinalized(name types.NamespacedName, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if uid == "" {
		delete(l.finalized, name)
		return
	}
	if l.finalized == nil {
		l.finalized = map[types.NamespacedName]types.UID{}
	}
	l.finalized[name] = uid
}

func (l *Loop[T]) isFinalized(obj T) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.finalized[client.ObjectKeyFromObject(obj)] == obj.GetUID() && obj.GetUID() != ""
}

// inARow returns how many passes ended in a conflict one after the other.
func (l *Loop[T]) inARow(name types.NamespacedName) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conflicts[name]
}

// conflicted counts a pass that ended in a conflict; another ends the row.
func (l *Loop[T]) conflicted(name types.NamespacedName, did bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !did {
		delete(l.conflicts, name)
		return
	}
	if l.conflicts == nil {
		l.conflicts = map[types.NamespacedName]int{}
	}
	l.conflicts[name]++
}

func (l *Loop[T]) interval(obj T) time.Duration {
	d := l.Kind.Interval(obj)
	switch {
	case !l.Kind.Unbounded:
		d = max(d, minInterval)
	case d <= 0:
		return 0
	}
	if l.Jitter != nil {
		d = l.Jitter(d)
	}
	return d
}

func (l *Loop[T]) live() client.Reader {
	if l.Live != nil {
		return l.Live
	}
	return l.Client
}

// Jitter returns a function that makes durations up to so many percent longer
// or shorter, by a source of numbers from 0 up to 1.
func Jitter(percent float64, random func() float64) func(time.Duration) time.Duration {
	return func(d time.Duration) time.Duration {
		return d + time.Duration(float64(d)*percent/100*(2*random()-1))
	}
}
