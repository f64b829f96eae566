package app

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/pprof"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// leaderID names the lease; shards have leases of their own.
const leaderID = "weir-controller-leader-election"

// newManager returns a manager with nothing to manage.
func newManager(kube *rest.Config, c *Config) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, sourcev1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	selector, err := labels.Parse(c.Watch.Selector)
	if err != nil {
		return nil, err
	}
	cached := cache.Options{
		ByObject:         map[client.Object]cache.ByObject{&v1beta1.ArtifactGenerator{}: {Label: selector}},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
	if !c.Watch.AllNamespaces {
		cached.DefaultNamespaces = map[string]cache.Config{c.Watch.Namespace: {}}
	}
	mgr, err := ctrl.NewManager(kube, ctrl.Options{
		Scheme: scheme,
		Cache:  cached,
		// A status that was replaced meanwhile must not be compared with.
		Client:                        client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics:                       metricsserver.Options{BindAddress: c.MetricsAddr, ExtraHandlers: profiles()},
		HealthProbeBindAddress:        c.HealthAddr,
		LeaderElection:                c.Leader.Elect,
		LeaderElectionID:              leaderName(c.Watch.Selector),
		LeaderElectionNamespace:       c.Watch.Namespace,
		LeaderElectionReleaseOnCancel: c.Leader.Release,
		LeaseDuration:                 &c.Leader.Lease,
		RenewDeadline:                 &c.Leader.Renew,
		RetryPeriod:                   &c.Leader.RetryTime,
		Controller:                    config.Controller{MaxConcurrentReconciles: c.Concurrent, ReconciliationTimeout: c.Timeout},
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	return mgr, mgr.AddHealthzCheck("ping", healthz.Ping)
}

// leaderName returns the name of the lease of the shard.
func leaderName(selector string) string {
	if selector == "" {
		return leaderID
	}
	sum := sha256.Sum256([]byte(selector))
	return leaderID + "-" + hex.EncodeToString(sum[:4])
}

func profiles() map[string]http.Handler {
	return map[string]http.Handler{
		"/debug/pprof/":        http.HandlerFunc(pprof.Index),
		"/debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
}
