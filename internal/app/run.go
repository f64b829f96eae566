package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/compose"
	"github.com/weir-dev/weir/internal/controller/artifactgenerator"
	"github.com/weir-dev/weir/internal/fetch"
	"github.com/weir-dev/weir/internal/keep"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/internal/serve"
	"github.com/weir-dev/weir/internal/store"
)

// grace is how long downloads may take once the program is to end.
const grace = 10 * time.Second

// run runs everything until ctx ends.
func run(ctx context.Context, c *Config, log logr.Logger) error {
	ctrl.SetLogger(log)
	kube, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	kube.UserAgent = "weir-controller"
	kube.QPS, kube.Burst = float32(c.QPS), c.Burst
	disk, err := store.OpenDisk(c.Storage.Path, store.Options{})
	if err != nil {
		return err
	}
	defer disk.Close() //nolint:errcheck // all that was written is synced
	mgr, err := newManager(kube, c)
	if err != nil {
		return err
	}
	if err := addServer(mgr, c.Storage.Addr, disk); err != nil {
		return err
	}
	if err := addGenerators(ctx, mgr, kube, c, disk); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// addServer has the artifacts served by the leader. The address is taken at
// once: what is published can be downloaded, and that it is in use is known
// before anything is done.
func addServer(mgr ctrl.Manager, addr string, files serve.Opener) error {
	l, err := net.Listen("tcp", addr) //nolint:noctx // nothing waits
	if err != nil {
		return fmt.Errorf("serving artifacts: %w", err)
	}
	var serving atomic.Bool
	err = mgr.AddReadyzCheck("storage", func(*http.Request) error {
		if !serving.Load() {
			return errors.New("artifacts are not served yet")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		serving.Store(true)
		defer serving.Store(false)
		return serve.Run(ctx, l, serve.Handler(files), grace)
	}))
}

// addGenerators has ArtifactGenerators reconciled.
func addGenerators(ctx context.Context, mgr ctrl.Manager, kube *rest.Config, c *Config, disk *store.Disk) error {
	// Reads and writes of whole objects, past the cache.
	direct, err := client.New(kube, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return err
	}
	wake := make(chan event.GenericEvent, 100)
	events := recorder{mgr.GetEventRecorder("weir-controller")}
	url := func(path string) string { return serve.URL(c.Storage.AdvAddr, path) }
	k := keep.New(keep.Options{
		Store: disk, Cache: mgr.GetCache(), URL: url, TTL: c.Storage.TTL, Records: c.Storage.Records,
		Events: events, Log: ctrl.Log.WithName("store"),
		Wake: func(g *v1beta1.ArtifactGenerator) { wake <- event.GenericEvent{Object: g} },
	})
	if err := mgr.Add(k); err != nil {
		return err
	}
	r := artifactgenerator.New(artifactgenerator.Options{
		Client: mgr.GetClient(), Direct: direct,
		Events: events,
		Fetch:  fetch.New(c.Fetch),
		Store:  disk,
		URL:    url,
		Swept:  k.Ask,
		Wait:   c.Fetch.Wait,
		Recipe: recipe.Options{NoCrossNamespaceRefs: c.NoCrossNamespaceRefs},
		Build:  build.Options{Compose: compose.Options{RootGlobs: c.SourceRootGlobs}},
		Jitter: loop.Jitter(float64(c.JitterPercent), rand.Float64), //nolint:gosec // no secret
	})
	return r.Watch(ctx, mgr, wake, controller.Options{
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](c.MinRetryDelay, c.MaxRetryDelay),
	})
}
