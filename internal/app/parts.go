package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/beacon"
	"github.com/weir-dev/weir/internal/controller/artifactgenerator"
	"github.com/weir-dev/weir/internal/controller/guard"
	"github.com/weir-dev/weir/internal/fetch"
	"github.com/weir-dev/weir/internal/keep"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/metrics"
	"github.com/weir-dev/weir/internal/notify"
	"github.com/weir-dev/weir/internal/relay"
	"github.com/weir-dev/weir/internal/replicator"
	"github.com/weir-dev/weir/internal/serve"
	"github.com/weir-dev/weir/internal/store"
)

// grace is how long downloads may take once the program is to end.
const grace = 10 * time.Second

// parts is the program as it is put together, in the order of the fields.
type parts struct {
	*options

	disk     *store.Disk
	sources  *fetch.Cache
	mgr      ctrl.Manager
	uncached client.Client

	metrics *metrics.Metrics // by addMetrics
	events  loop.Events      // by addEvents
	keeper  *keep.Keeper     // by addKeeper
	// wake has generators reconciled.
	wake chan event.GenericEvent // by addKeeper
}

// errStandby says that this replica does not lead.
var errStandby = errors.New("another replica leads")

func (p *parts) addMetrics(context.Context) (err error) {
	p.metrics, err = metrics.Register(ctrlmetrics.Registry, metrics.Sources{
		Fetch: p.sources.Stats,
		Generators: func(ctx context.Context) ([]v1beta1.ArtifactGenerator, error) {
			var list v1beta1.ArtifactGeneratorList
			err := p.list(ctx, &list)
			return list.Items, err
		},
		Replications: p.listReplications,
	})
	return err
}

// list lists objects for metrics; each counts once, so only who leads does.
func (p *parts) list(ctx context.Context, into client.ObjectList) error {
	select {
	case <-p.mgr.Elected():
		return p.mgr.GetCache().List(ctx, into, client.UnsafeDisableDeepCopy)
	default:
		return errStandby
	}
}

func (p *parts) listReplications(ctx context.Context) ([]v1beta2.GlobalTenantResource, []v1beta2.TenantResource, error) {
	var global v1beta2.GlobalTenantResourceList
	var tenant v1beta2.TenantResourceList
	if !p.replicate.On {
		return nil, nil, nil
	}
	err := errors.Join(p.list(ctx, &global), p.list(ctx, &tenant))
	return global.Items, tenant.Items, err
}

// addEvents has events told to all who want them.
func (p *parts) addEvents(context.Context) error {
	all := notify.All{
		notify.Log{Logger: p.log, Scheme: p.mgr.GetScheme()},
		notify.Cluster{EventRecorder: p.mgr.GetEventRecorder(name)},
	}
	if p.webhook.URL != "" {
		o := p.webhook
		o.Dropped = p.metrics.Dropped
		hook := notify.NewWebhook(o)
		if err := p.mgr.Add(hook); err != nil {
			return err
		}
		all = append(all, hook)
	}
	p.events = all
	return nil
}

// addKeeper has the store kept in order.
func (p *parts) addKeeper(context.Context) error {
	p.wake = make(chan event.GenericEvent, 100)
	o := p.keep
	o.Store, o.Cache, o.Events = p.disk, p.mgr.GetCache(), p.events
	o.Wake = func(g *v1beta1.ArtifactGenerator) { p.wake <- event.GenericEvent{Object: g} }
	o.Observe = func(s store.Swept) { p.metrics.Stored(s.Kept, s.KeptBytes) }
	p.keeper = keep.New(o)
	return p.mgr.Add(p.keeper)
}

// addServer has artifacts served. The address is taken at once: what is
// published can be downloaded, and that it is in use is known before anything is
// done.
func (p *parts) addServer(context.Context) error {
	l, err := net.Listen("tcp", p.listen) //nolint:noctx // nothing waits
	if err != nil {
		return fmt.Errorf("serving artifacts: %w", err)
	}
	b := beacon.New(p.tellReached())
	files := serve.Checked(p.disk, p.keeper.Doubt)
	h := relay.Handler(b.Handler(serve.Handler(files)), p.mgr.Elected(), p.leader)
	var serving atomic.Bool
	err = p.mgr.AddReadyzCheck("storage", func(*http.Request) error {
		if !serving.Load() {
			return errors.New("artifacts are not served yet")
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = p.mgr.Add(everywhere(func(ctx context.Context) error {
		serving.Store(true)
		defer serving.Store(false)
		return serve.Run(ctx, l, p.metrics.Serving(h), grace)
	}))
	if err != nil {
		return err
	}
	return p.mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		b.Watch(ctx, p.url(beacon.Path))
		return nil
	}))
}

// everywhere runs in every replica, and not in the leader alone.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (f everywhere) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

// tellReached returns what tells whether the advertised address leads here: the
// metric, and whenever that changes the log and an event on the pod.
func (p *parts) tellReached() func(error) {
	const reason = "StorageAddressNotReached"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.own.Namespace, Name: p.webhook.Instance}}
	bad := false
	return func(err error) {
		p.metrics.Reached(err == nil)
		switch {
		case err != nil && !bad:
			e := loop.Event{Warning: true, Reason: reason, Action: "Serve", Message: fmt.Sprintf(
				"--storage-adv-addr does not lead to the artifacts of this program, so consumers may not be able to download them: %v", err)}
			if p.own.Namespace == "" {
				p.log.Info(e.Message, "reason", reason)
			} else {
				p.events.Record(pod, e)
			}
		case err == nil && bad:
			p.log.Info("--storage-adv-addr leads to the artifacts of this program")
		}
		bad = err != nil
	}
}

// addGenerators has ArtifactGenerators reconciled.
func (p *parts) addGenerators(ctx context.Context) error {
	o := p.generators
	o.Client, o.Direct, o.Events, o.Fetch, o.Store = p.mgr.GetClient(), p.uncached, p.events, p.sources, p.disk
	o.Swept, o.Observe, o.Metrics = p.keeper.Ask, p.metrics.Step, p.metrics
	if p.direct {
		o.Sources = p.uncached
	}
	return artifactgenerator.New(o).Watch(ctx, p.mgr, p.wake, p.controller)
}

// addReplications has replications reconciled, and admission policies kept.
func (p *parts) addReplications(context.Context) error {
	if !p.replicate.On {
		return nil
	}
	o := p.replicate
	o.Manager, o.Kube, o.Direct, o.Own = p.mgr, p.mgr.GetConfig(), p.uncached, p.own
	o.Events, o.Observe, o.Protected = p.events, p.metrics.Step, func(s guard.State) { p.metrics.Protected(s.InForce) }
	return replicator.Add(o)
}
