// Package replicator is the part of weir-controller that replicates: its flags,
// and the controllers, caches and admission policies that they come to. It
// decides nothing about objects.
package replicator

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/account"
	"github.com/weir-dev/weir/internal/controller/guard"
	"github.com/weir-dev/weir/internal/controller/replication"
	"github.com/weir-dev/weir/internal/controller/sight"
	"github.com/weir-dev/weir/internal/controller/tenant"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/protect"
	"github.com/weir-dev/weir/internal/protect/mark"
)

// Options are what [Add] works with. All but Jitter must be set.
type Options struct {
	Config
	// Manager has the scheme with all kinds, and a cache that sees its own
	// writes. Kube is its configuration.
	Manager ctrl.Manager
	Kube    *rest.Config
	// Direct reads from the API server and writes to it as the controller.
	Direct client.Client
	// Own is the controller's ServiceAccount. Without a namespace nobody knows
	// whom policies have to let through, so none are kept.
	Own types.NamespacedName
	// MinRetry and MaxRetry bound the back-off after failures.
	MinRetry, MaxRetry time.Duration
	// Jitter is by how much of them intervals are made longer at most; it is
	// between 0 and 1.
	Jitter float64

	Events loop.Events
	// Observe sees each step, and Protected each change of the protection.
	Observe   func(name string, took time.Duration, err error)
	Protected func(guard.State)
	Log       logr.Logger
}

// retryAtMost bounds the back-off of replications: a target that could not be
// written is tried again within a minute, however long the resync period is.
const retryAtMost = time.Minute

// Add makes the manager replicate, keep the status of tenants and keep the
// admission policies.
func Add(o Options) error {
	engine, err := o.engine()
	if err != nil {
		return err
	}
	if err := engine.Watch(o.Manager, o.controller()); err != nil {
		return err
	}
	tenants := &tenant.Reconciler{Cache: o.Manager.GetCache(), Direct: o.Direct, Mode: o.Tenants}
	if err := tenants.Watch(o.Manager, o.controller()); err != nil {
		return err
	}
	if o.Own.Namespace == "" {
		o.Log.Info("no admission policies are kept: RUNTIME_NAMESPACE is not set, so whom they let through is not known")
		return nil
	}
	return o.Manager.Add(o.guard())
}

func (o *Options) controller() controller.Options {
	return controller.Options{
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](o.MinRetry, max(o.MinRetry, min(o.MaxRetry, retryAtMost))),
	}
}

// engine returns the engine with what it sees of sources and targets.
func (o *Options) engine() (*replication.Engine, error) {
	accounts := &account.Clients{Config: o.Kube, Options: client.Options{Scheme: o.Manager.GetScheme(), Mapper: o.Manager.GetRESTMapper()}}
	see, err := o.sight(accounts)
	if err != nil {
		return nil, err
	}
	engine := replication.New(replication.Options{
		Client: o.Manager.GetClient(), Direct: o.Direct, Tenants: o.Manager.GetCache(), Sight: see,
		Accounts: accounts, Own: o.Own, Defaults: o.Defaults, Events: o.Events, Observe: o.Observe,
		Jitter: func(d time.Duration) time.Duration {
			return d + time.Duration(float64(d)*o.Jitter*rand.Float64()) //nolint:gosec // no secret
		},
	})
	see.Changed = engine.Changed
	return engine, nil
}

// sight returns what sees sources and targets. It looks with the rights of the
// account that most replications act as, so that whoever lets that one write a
// kind lets it be watched in the same rule, and the controller itself needs no
// right on content.
func (o *Options) sight(accounts *account.Clients) (*sight.Sight, error) {
	kube, direct := o.Kube, o.Direct
	if a := o.Defaults.Global; a != (types.NamespacedName{}) && a != o.Own {
		kube = accounts.As(a)
		var err error
		if direct, err = accounts.For(a, mark.Replication{}); err != nil {
			return nil, err
		}
	}
	managed, err := labels.NewRequirement(v1beta2.LabelManagedBy, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	options := cache.Options{
		Scheme: o.Manager.GetScheme(), Mapper: o.Manager.GetRESTMapper(), DefaultTransform: cache.TransformStripManagedFields(),
	}
	sources, err := cache.New(kube, options)
	if err != nil {
		return nil, err
	}
	options.DefaultLabelSelector = labels.NewSelector().Add(*managed)
	targets, err := cache.New(kube, options)
	if err != nil {
		return nil, err
	}
	return &sight.Sight{Options: sight.Options{Sources: sources, Targets: targets, Direct: direct, Now: time.Now}},
		errors.Join(o.Manager.Add(sources), o.Manager.Add(targets))
}

// guard returns what keeps the admission policies.
func (o *Options) guard() *guard.Keeper {
	p := protect.Policies{
		Controller: account.UserName(o.Own), Exempt: o.exempt(), System: []string{o.Own.Namespace},
	}
	return guard.New(guard.Options{
		Client: o.Direct, Cache: o.Manager.GetCache(),
		Targets: p.Targets(), Off: o.Protection == None,
		Others: func() ([]protect.Guard, error) {
			keeps, err := o.Tenants.Keeps(o.Direct.RESTMapper())
			p := p
			p.Capsule = !keeps
			return []protect.Guard{p.Tracking(), p.Membership(), p.Generators()}, err
		},
		Report: o.Protected, Log: o.Log,
	})
}
