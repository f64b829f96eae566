package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/pprof"
	"os"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/compose"
	"github.com/weir-dev/weir/internal/controller/artifactgenerator"
	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/fetch"
	"github.com/weir-dev/weir/internal/keep"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/notify"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/internal/relay"
	"github.com/weir-dev/weir/internal/replicator"
	"github.com/weir-dev/weir/internal/serve"
	"github.com/weir-dev/weir/internal/store"
)

// options are what flags come to: what the parts of the program are made with,
// in the types that the parts take. A flag that changes nothing here has no
// effect, and a test holds each of them to it.
type options struct {
	log logr.Logger
	// notes are what the log says in the beginning about flags that do less
	// than one may think.
	notes []string

	// limiter is for all requests to the API server; nil limits none.
	limiter flowcontrol.RateLimiter
	manager ctrl.Options
	lease   types.NamespacedName
	// identity is what this replica is called in the lease.
	identity string

	fetch fetch.Options
	// directory is that of the store.
	directory string
	store     store.Options
	// keep has what flags say, as have generators, controller and webhook; run
	// adds what needs the cluster.
	keep       keep.Options
	generators artifactgenerator.Options
	// direct reads source objects past the cache.
	direct     bool
	controller controller.Options
	webhook    notify.Options
	// listen is where artifacts are served, url where consumers find them.
	listen string
	url    func(path string) string
	// own is the ServiceAccount of the program; its namespace may be empty.
	own types.NamespacedName
	// replicate has what flags say; run adds what needs the cluster.
	replicate replicator.Options
}

// options returns what the flags come to, or all that is wrong with them.
func (c *Config) options(logs io.Writer) (*options, error) {
	log, err := c.Log.logger(logs)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, err
	}
	algorithm, err := digest.Named(c.Storage.Algorithm)
	if err != nil {
		return nil, fmt.Errorf("--artifact-digest-algo: %w", err)
	}
	manager, err := c.manager(log)
	if err != nil {
		return nil, err
	}
	url := func(path string) string { return serve.URL(c.Storage.AdvAddr, path) }
	o := &options{
		log: log, notes: c.notes(), manager: manager,
		lease:    types.NamespacedName{Namespace: c.Watch.Namespace, Name: manager.LeaderElectionID},
		identity: relay.Identity(c.Storage.own()),
		fetch:    c.Fetch, directory: c.Storage.Path, store: store.Options{Digest: algorithm},
		keep: keep.Options{URL: url, TTL: c.Storage.TTL, Records: c.Storage.Records, Log: log.WithName("store")},
		generators: artifactgenerator.Options{
			URL: url, Wait: c.Fetch.Wait,
			Recipe: recipe.Options{
				NoCrossNamespaceRefs: c.Tenants.NoCrossNamespaceRefs, DefaultServiceAccount: c.Tenants.DefaultServiceAccount,
			},
			Overrides: c.Tenants.OverrideManagers, NoNamespaces: !c.Watch.AllNamespaces,
			Build:  build.Options{Compose: compose.Options{RootGlobs: c.Gates.SourceRootGlobs}},
			Jitter: loop.Jitter(float64(c.JitterPercent), rand.Float64), //nolint:gosec // no secret
		},
		direct: c.Gates.DirectSourceFetch,
		controller: controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](c.MinRetryDelay, c.MaxRetryDelay),
		},
		webhook: notify.Options{URL: c.EventsAddr, Controller: name, Scheme: manager.Scheme, Log: log.WithName("events")},
		listen:  c.Storage.Addr, url: url, own: types.NamespacedName{Namespace: c.Watch.Namespace, Name: c.Watch.Account},
		replicate: replicator.Options{
			Config: c.Replications, MinRetry: c.MinRetryDelay, MaxRetry: c.MaxRetryDelay,
			Jitter: float64(c.JitterPercent) / 100, Log: log.WithName("protection"),
		},
	}
	if c.QPS > 0 {
		o.limiter = flowcontrol.NewTokenBucketRateLimiter(float32(c.QPS), c.Burst)
	}
	if o.webhook.Instance, err = os.Hostname(); err != nil {
		return nil, fmt.Errorf("naming the sender of events: %w", err)
	}
	return o, nil
}

// notes are what users should know about flags that do less than their names
// say.
func (c *Config) notes() []string {
	var out []string
	if c.Watch.Configs != "" {
		out = append(out, "--watch-configs-label-selector has no effect: no ConfigMaps or Secrets are read")
	}
	return out
}

// manager returns the options of the manager.
func (c *Config) manager(log logr.Logger) (ctrl.Options, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, sourcev1.AddToScheme, v1beta1.AddToScheme, v1beta2.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return ctrl.Options{}, err
		}
	}
	selector, err := labels.Parse(c.Watch.Selector)
	if err != nil {
		return ctrl.Options{}, err
	}
	cached := cache.Options{
		ByObject:         map[client.Object]cache.ByObject{&v1beta1.ArtifactGenerator{}: {Label: selector}},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
	if c.Replications.On {
		cached.ByObject[&v1beta2.GlobalTenantResource{}] = cache.ByObject{Label: selector}
		cached.ByObject[&v1beta2.TenantResource{}] = cache.ByObject{Label: selector}
	}
	if !c.Watch.AllNamespaces {
		cached.DefaultNamespaces = map[string]cache.Config{c.Watch.Namespace: {}}
	}
	return ctrl.Options{
		Scheme: scheme,
		Logger: log,
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
	}, nil
}

// leaderName returns the name of the lease of the shard: shards have leases of
// their own.
func leaderName(selector string) string {
	const all = name + "-leader-election"
	if selector == "" {
		return all
	}
	sum := sha256.Sum256([]byte(selector))
	return all + "-" + hex.EncodeToString(sum[:4])
}

// own returns the address at which other replicas find this one.
func (s *Storage) own() string {
	host, port, _ := net.SplitHostPort(s.Addr)
	if isAny(host) {
		name, _ := os.Hostname()
		host = cmp.Or(s.PodIP, name)
	}
	return net.JoinHostPort(host, port)
}

// isAny reports whether a host to listen on stands for all addresses.
func isAny(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
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
