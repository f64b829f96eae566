package artifactgenerator_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/event"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/artifactgenerator"
	"github.com/weir-dev/weir/internal/fetch"
	"github.com/weir-dev/weir/internal/keep"
	"github.com/weir-dev/weir/internal/serve"
	"github.com/weir-dev/weir/internal/store"
)

// world is a namespace of a cluster in which the reconciler runs, with a server
// of sources and a store.
type world struct {
	t         *testing.T
	config    *rest.Config
	client    client.Client
	namespace string
	dir       string // of the store
	sources   *httptest.Server
	artifacts *httptest.Server
	disk      atomic.Pointer[store.Disk]
	traffic   *traffic
	events    *events
	direct    atomic.Bool  // reads sources from the API server
	passes    atomic.Int64 // that were begun
	failing   atomic.Int64 // artifacts, in the last pass of any generator
	read      atomic.Int64 // bytes of stored files, by the reconciler
	all       bool         // namespaces are seen, but generators of others
	stop      func()       // nil: not running

	mu    sync.Mutex
	balls map[string][]byte // guarded by mu
}

// failures is metrics that know how many artifacts failed last.
type failures struct{ failing *atomic.Int64 }

func (failures) Pass(types.NamespacedName, time.Duration) {}

func (f failures) Built(_ types.NamespacedName, _, _, failing int) { f.failing.Store(int64(failing)) }

var installed sync.Once

func newWorld(t *testing.T) *world {
	t.Helper()
	cluster := shared.Cluster(t)
	installed.Do(func() {
		_, err := envtest.InstallCRDs(cluster.Admin(), envtest.CRDInstallOptions{Paths: []string{
			"../../../config/crd/source.extensions.fluxcd.io_artifactgenerators.yaml", "../../../test/e2e/testdata/crds",
		}})
		if err != nil {
			t.Fatal(err)
		}
	})
	w := &world{
		t: t, config: cluster.Admin(), namespace: cluster.Namespace(t), dir: t.TempDir(),
		balls: map[string][]byte{}, events: &events{}, traffic: &traffic{},
	}
	w.traffic.left.Store(-1)
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return connection{w.traffic, next} })
	var err error
	if w.client, err = client.New(cluster.Admin(), client.Options{Scheme: scheme(t)}); err != nil {
		t.Fatal(err)
	}
	w.sources = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		data, ok := w.balls[r.URL.Path]
		w.mu.Unlock()
		w.traffic.downloads.Add(1)
		if !ok {
			http.NotFound(out, r)
			return
		}
		_, _ = out.Write(data)
	}))
	t.Cleanup(w.sources.Close)
	w.artifacts = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		serve.Handler(w.disk.Load()).ServeHTTP(out, r)
	}))
	t.Cleanup(w.artifacts.Close)
	t.Cleanup(func() { w.end() })
	return w
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, sourcev1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// start runs the reconciler with an empty memory, as after a restart.
func (w *world) start() {
	w.t.Helper()
	w.end()
	s := scheme(w.t)
	mgr, err := ctrl.NewManager(w.config, ctrl.Options{
		Scheme:  s,
		Cache:   w.cache(),
		Client:  client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	direct, err := client.New(w.config, client.Options{Scheme: s, Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		w.t.Fatal(err)
	}
	disk, err := store.OpenDisk(w.dir, store.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.disk.Store(disk)
	w.traffic.left.Store(-1)
	url := func(p string) string { return serve.URL(w.artifacts.URL, p) }
	wake := make(chan event.GenericEvent)
	k := keep.New(keep.Options{
		Store: disk, Cache: mgr.GetCache(), URL: url, TTL: time.Millisecond, Events: w.events, Log: logr.Discard(),
		Wake: func(g *v1beta1.ArtifactGenerator) { wake <- event.GenericEvent{Object: g} },
	})
	if err := mgr.Add(k); err != nil {
		w.t.Fatal(err)
	}
	var sources client.Reader
	if w.direct.Load() {
		sources = direct
	}
	r := artifactgenerator.New(artifactgenerator.Options{
		Client: mgr.GetClient(), Direct: direct, Events: w.events, Fetch: fetch.New(fetch.Options{Retries: -1, Wait: 100 * time.Millisecond}),
		Store: watched{disk, &w.read}, URL: url, Swept: k.Ask, Wait: 100 * time.Millisecond, Sources: sources,
		Observe: func(name string, _ time.Duration, _ error) {
			if name == "observe" {
				w.passes.Add(1)
			}
		},
		Metrics: failures{&w.failing},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	err = r.Watch(ctx, mgr, wake, controller.Options{
		SkipNameValidation: ptr.To(true),
		RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](20*time.Millisecond, 200*time.Millisecond),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	w.stop = func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		_ = disk.Close()
	}
}

// cache returns what the reconciler sees.
func (w *world) cache() cache.Options {
	own := map[string]cache.Config{w.namespace: {}}
	o := cache.Options{DefaultTransform: cache.TransformStripManagedFields(), DefaultNamespaces: own}
	if w.all {
		o.DefaultNamespaces = nil
		o.ByObject = map[client.Object]cache.ByObject{&v1beta1.ArtifactGenerator{}: {Namespaces: own}}
	}
	return o
}

func (w *world) end() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// apply creates or changes a generator by its spec.
func (w *world) apply(name, spec string) {
	w.t.Helper()
	w.applyWith(name, spec, nil)
}

// applyWith does it with annotations.
func (w *world) applyWith(name, spec string, annotations map[string]string) {
	w.t.Helper()
	g := &v1beta1.ArtifactGenerator{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	_, err := ctrl.CreateOrUpdate(w.t.Context(), w.client, g, func() error {
		g.Spec = v1beta1.ArtifactGeneratorSpec{}
		for key, value := range annotations {
			metav1.SetMetaDataAnnotation(&g.ObjectMeta, key, value)
		}
		return yaml.UnmarshalStrict([]byte(spec), &g.Spec)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// annotate sets an annotation of a generator.
func (w *world) annotate(name, key, value string) {
	w.t.Helper()
	g := w.generator(name)
	was := g.DeepCopy()
	if g.Annotations == nil {
		g.Annotations = map[string]string{}
	}
	g.Annotations[key] = value
	if err := w.client.Patch(w.t.Context(), g, client.MergeFrom(was)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get(o client.Object) {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) generator(name string) *v1beta1.ArtifactGenerator {
	w.t.Helper()
	g := &v1beta1.ArtifactGenerator{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	w.get(g)
	return g
}

func (w *world) artifact(name string) *sourcev1.ExternalArtifact {
	w.t.Helper()
	o := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	w.get(o)
	return o
}

// names returns the names of all ExternalArtifacts.
func (w *world) names() []string {
	w.t.Helper()
	var list sourcev1.ExternalArtifactList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	return out
}

// ready waits until the generator is as ready as wanted, such as "True" or
// "False BuildFailed", for its present generation and source.
func (w *world) ready(name, want string) *v1beta1.ArtifactGenerator {
	w.t.Helper()
	var g *v1beta1.ArtifactGenerator
	w.until(func() error {
		g = w.generator(name)
		c := apimeta.FindStatusCondition(g.Status.Conditions, "Ready")
		if c == nil || c.ObservedGeneration != g.Generation || !strings.HasPrefix(string(c.Status)+" "+c.Reason, want) {
			return fmt.Errorf("conditions are %+v, want %s", g.Status.Conditions, want)
		}
		return nil
	})
	return g
}

// condition waits until the Ready condition of an ExternalArtifact is as wanted
// and its only one.
func (w *world) condition(name, want string) {
	w.t.Helper()
	w.until(func() error {
		if c := w.artifact(name).Status.Conditions; len(c) != 1 || string(c[0].Status)+" "+c[0].Reason != want {
			return fmt.Errorf("conditions %+v, want %s", c, want)
		}
		return nil
	})
}

// download fails the test unless the artifact can be downloaded as told.
func (w *world) download(a *meta.Artifact) {
	w.t.Helper()
	if err := fetched(w.t.Context(), a); err != nil {
		w.t.Error(err)
	}
}

// fetched returns nil when the artifact can be downloaded as told.
func fetched(ctx context.Context, a *meta.Artifact) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); err != nil || res.StatusCode != http.StatusOK || got != a.Digest {
		return fmt.Errorf("%s: %s, digest %s, want %s: %w", a.URL, res.Status, got, a.Digest, err)
	}
	return nil
}

// files returns the paths in the store.
func (w *world) files() []string {
	w.t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(w.dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // swept meanwhile
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// until waits until check returns nil.
func (w *world) until(check func() error) {
	w.t.Helper()
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	w.t.Fatal(err)
}

// quiet waits until nothing is written or downloaded for a while.
func (w *world) quiet() {
	w.t.Helper()
	last, since := int64(-1), time.Now()
	w.until(func() error {
		if n := w.traffic.writes.Load() + w.traffic.downloads.Load(); n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) < 700*time.Millisecond {
			return errors.New("something is still written")
		}
		return nil
	})
}
