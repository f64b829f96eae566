// Package replication reconciles TenantResources and GlobalTenantResources: one
// engine for both kinds, which differ in what they may reach. What objects are
// wanted is decided in package replicate and what becomes of them in the object
// reconciler; this package reads tenants and sources, acts as the right
// ServiceAccount and tells in status what happened. It is a little longer than a
// room should be, because the steps share the state of a pass.
package replication

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/account"
	"github.com/weir-dev/weir/internal/controller/lane"
	"github.com/weir-dev/weir/internal/controller/objects"
	"github.com/weir-dev/weir/internal/controller/record"
	"github.com/weir-dev/weir/internal/controller/sight"
	"github.com/weir-dev/weir/internal/controller/wanted"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/step"
	"github.com/weir-dev/weir/internal/template"
	"github.com/weir-dev/weir/pkg/reconciler"
)

// Options are what an [Engine] works with. Client, Direct, Tenants, Accounts and
// Own must be set.
type Options struct {
	// Client reads replications from a cache that sees its own writes, and writes
	// their status.
	Client client.Client
	// Direct reads from the API server and writes to it as the controller itself.
	Direct client.Client
	// Tenants reads tenants, unstructured, and namespaces from a cache.
	Tenants client.Reader
	// Accounts act as ServiceAccounts.
	Accounts *account.Clients
	// Own is the controller's ServiceAccount.
	Own types.NamespacedName
	// Defaults are for replications that name no ServiceAccount.
	Defaults Defaults
	// Events is told what becomes of replications; nil means nobody is.
	Events loop.Events
	// Sight tells of changes of sources and targets; nil means that they are
	// looked at when the resync period ends. See [Engine.Changed].
	Sight *sight.Sight

	// Limits bound templates, and RenderTime how long one block may take for one
	// destination; zero means ten seconds.
	Limits     template.Limits
	RenderTime time.Duration
	// StatusBytes is how many bytes of a status the record of a replication may
	// take before it is kept in ConfigMaps in the namespace of Own; zero means
	// 512 KiB.
	StatusBytes int
	// Parallel is how many destinations are rendered, and how many targets are
	// written, at a time; zero means 8.
	Parallel int
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Jitter spreads intervals, and Observe sees each step; see [loop.Loop].
	Jitter  func(time.Duration) time.Duration
	Observe func(name string, took time.Duration, err error)
}

// Defaults are the ServiceAccounts of replications that name none. Those that
// are not set leave it to the controller's own.
type Defaults struct {
	// Global is for GlobalTenantResources; one without a name or a namespace is
	// not set.
	Global types.NamespacedName
	// Tenant is for TenantResources. Without a namespace it is the account of
	// that name in the namespace of each; without a name it is not set.
	Tenant types.NamespacedName
}

// waiting is how many changes of sources and targets may wait to be queued.
const waiting = 1000

// Engine reconciles replications of both kinds, see [New].
type Engine struct {
	Options

	wanted  wanted.Options
	objects *reconciler.Reconciler
	records *record.Keeper
	global  loop.Loop[*v1beta2.GlobalTenantResource]
	tenant  loop.Loop[*v1beta2.TenantResource]
	changed map[bool]chan event.GenericEvent // by whether it is global
	large   lane.Lane[sight.Owner]           // passes over many targets
}

// New returns an engine that watches nothing yet.
func New(o Options) *Engine {
	if o.Parallel == 0 {
		o.Parallel = 8
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &Engine{Options: o, large: lane.Lane[sight.Owner]{Width: atOnce}, wanted: wanted.Options{
		Tenants: o.Tenants, Mapper: o.Direct.RESTMapper(), Limits: o.Limits, RenderTime: o.RenderTime, Parallel: o.Parallel, Now: o.Now,
	}, changed: map[bool]chan event.GenericEvent{}}
	for _, global := range []bool{true, false} {
		e.changed[global] = make(chan event.GenericEvent, waiting)
	}
	var metadata client.Reader
	if o.Sight != nil {
		metadata = o.Sight.Metadata()
	}
	e.objects = objects.NewReconciler(objects.Options{
		Direct: o.Direct, Namespaces: o.Tenants, Metadata: metadata, Parallel: o.Parallel, Now: o.Now,
	})
	e.records = record.NewKeeper(o.Direct, o.Own.Namespace)
	e.records.Bytes = o.StatusBytes
	e.global = loop.Loop[*v1beta2.GlobalTenantResource]{
		Kind:   kindOf(e, func() *v1beta2.GlobalTenantResource { return &v1beta2.GlobalTenantResource{} }, e.subjectOfGlobal),
		Client: o.Client, Live: o.Direct, Events: o.Events, Jitter: o.Jitter, Observe: o.Observe,
	}
	e.tenant = loop.Loop[*v1beta2.TenantResource]{
		Kind:   kindOf(e, func() *v1beta2.TenantResource { return &v1beta2.TenantResource{} }, e.subjectOfTenant),
		Client: o.Client, Live: o.Direct, Events: o.Events, Jitter: o.Jitter, Observe: o.Observe,
	}
	return e
}

// Global returns the reconciler of GlobalTenantResources.
func (e *Engine) Global() reconcile.Reconciler { return &watcher{e, &e.global, true} }

// Tenant returns the reconciler of TenantResources.
func (e *Engine) Tenant() reconcile.Reconciler { return &watcher{e, &e.tenant, false} }

// Changed queues a replication whose sources or targets changed. When too many
// wait, it is dropped and found at the end of the resync period.
func (e *Engine) Changed(o sight.Owner) {
	about := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	select {
	case e.changed[o.Global] <- event.GenericEvent{Object: about}:
	default:
	}
}

// watcher calls the next large pass after each, and forgets what a replication
// was interested in once it is gone.
type watcher struct {
	*Engine
	loop   reconcile.Reconciler
	global bool
}

// Reconcile implements [reconcile.Reconciler].
func (w *watcher) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	owner := sight.Owner{Global: w.global, Namespace: req.Namespace, Name: req.Name}
	res, err := w.loop.Reconcile(ctx, req)
	if next, ok := w.large.Leave(owner); ok {
		w.Changed(next)
	}
	if w.Sight == nil {
		return res, err
	}
	var o loop.Object = &v1beta2.TenantResource{}
	if w.global {
		o = &v1beta2.GlobalTenantResource{}
	}
	if apierrors.IsNotFound(w.Client.Get(ctx, req.NamespacedName, o)) {
		w.Sight.Forget(owner)
	}
	return res, err
}

// kindOf returns what the loop has to know of one of the kinds.
func kindOf[T loop.Object](e *Engine, empty func() T, of func(T) subject) loop.Kind[T] {
	return loop.Kind[T]{
		New:       empty,
		Finalizer: v1beta2.Finalizer,
		Obsolete:  []string{v1beta2.FinalizerLegacy},
		Needed:    func(o T) bool { return record.Has(of(o).status) },
		Request:   v1beta2.AnnotationRequestedAt,
		Interval:  func(o T) time.Duration { return interval(of(o).spec) },
		Unbounded: true,
		Working:   v1beta2.ReasonReconciling,
		Suspended: func(o T) bool { return of(o).spec.Cordoned },
		Conditions: func(o T) []metav1.Condition {
			return []metav1.Condition{cordoned(of(o).spec)}
		},
		Steps:    func(o T, p *loop.Pass) []step.Step { return e.steps(of(o), p) },
		Finalize: func(o T, p *loop.Pass) []step.Step { return e.finalize(of(o), p) },
	}
}

func (e *Engine) run(s subject, p *loop.Pass) *run {
	return &run{Engine: e, subject: s, pass: p, record: e.records.Open(s.owner(), s.status, writer{p}, s.inherited)}
}

func (e *Engine) steps(s subject, p *loop.Pass) []step.Step {
	r := e.run(s, p)
	return []step.Step{
		step.Of("depend", r.depend), // wait for others
		step.Of("gather", r.gather), // who acts, and in which tenants
		step.Of("queue", r.queue),   // if there is much to do, until others are done
		step.Of("render", r.render), // blocks into targets, for each destination
		step.Of("gate", r.gate),     // targets into objects with their conditions
		step.Of("apply", r.apply),   // apply them, then remove what left
		step.Of("report", r.report), // what happened, into status
	}
}

func (e *Engine) finalize(s subject, p *loop.Pass) []step.Step {
	r := e.run(s, p)
	return []step.Step{
		step.Of("identify", r.identify),
		step.Of("queue", r.queue),
		step.Of("remove", r.remove),
		step.Of("report", r.report),
	}
}

func cordoned(spec *v1beta2.ReplicationSpec) metav1.Condition {
	if spec.Cordoned {
		return metav1.Condition{Type: v1beta2.ConditionCordoned, Status: metav1.ConditionTrue, Reason: v1beta2.ReasonCordoned, Message: "is cordoned"}
	}
	return metav1.Condition{Type: v1beta2.ConditionCordoned, Status: metav1.ConditionFalse, Reason: v1beta2.ReasonActive, Message: "not cordoned"}
}
