package app

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/weir-dev/weir/internal/fetch"
	"github.com/weir-dev/weir/internal/store"
)

// run runs everything until ctx ends.
func run(ctx context.Context, o *options) error {
	ctrl.SetLogger(o.log)
	kube, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	o.connect(kube)
	disk, err := store.OpenDisk(o.directory, o.store)
	if err != nil {
		return err
	}
	defer disk.Close() //nolint:errcheck // all that was written is synced
	p := &parts{options: o, disk: disk, sources: fetch.New(o.fetch)}
	if p.mgr, err = newManager(kube, o); err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	// Reads and writes of whole objects, past the cache.
	p.uncached, err = client.New(kube, client.Options{
		Scheme: p.mgr.GetScheme(), Mapper: p.mgr.GetRESTMapper(), HTTPClient: p.mgr.GetHTTPClient(),
	})
	if err != nil {
		return err
	}
	for _, add := range []func(context.Context) error{p.addMetrics, p.addEvents, p.addKeeper, p.addServer, p.addGenerators, p.addReplications} {
		if err := add(ctx); err != nil {
			return err
		}
	}
	if err := p.mgr.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// connect says how the API server is to be asked. The limit is one for the
// whole program: clients would else have one for each kind of object.
func (o *options) connect(kube *rest.Config) {
	kube.UserAgent = name
	kube.QPS, kube.RateLimiter = -1, o.limiter
}

// unlimited returns the configuration without a limit. Whoever renews a lease
// must not wait until others have asked for all that they want.
func unlimited(kube *rest.Config) *rest.Config {
	kube = rest.CopyConfig(kube)
	kube.RateLimiter = nil
	return kube
}

// newManager returns a manager with nothing to manage.
func newManager(kube *rest.Config, o *options) (ctrl.Manager, error) {
	opts := o.manager
	if opts.LeaderElection {
		lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, o.lease.Namespace, o.lease.Name,
			resourcelock.ResourceLockConfig{Identity: o.identity}, unlimited(kube), *opts.RenewDeadline)
		if err != nil {
			return nil, err
		}
		opts.LeaderElectionResourceLockInterface = lock
	}
	mgr, err := ctrl.NewManager(kube, opts)
	if err != nil {
		return nil, err
	}
	return mgr, mgr.AddHealthzCheck("ping", healthz.Ping)
}

// leader returns the identity of the replica that leads.
func (p *parts) leader(ctx context.Context) (string, error) {
	var lease coordinationv1.Lease
	if err := p.uncached.Get(ctx, p.lease, &lease); err != nil {
		return "", fmt.Errorf("reading who leads: %w", err)
	}
	if lease.Spec.HolderIdentity == nil {
		return "", nil
	}
	return *lease.Spec.HolderIdentity, nil
}
