//go:build linux

package reconciler

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/reconcilertest"
	"github.com/weir-dev/weir/pkg/reconciler/shard"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

const (
	name    = "bench.weir.dev"
	workers = 8 // of the bare loop, and by default of a pass
)

// world is an owner with a namespace of its own.
type world struct {
	testing.TB

	recorder  *reconcilertest.Recorder
	client    client.Client
	namespace string
	options   reconciler.ReconcilerOptions
	request   reconciler.Request
	last      *reconciler.Result
}

func newWorld(t testing.TB, objects []reconciler.Object) *world {
	cluster := shared.Cluster(t)
	w := &world{TB: t, recorder: &reconcilertest.Recorder{}, namespace: cluster.Namespace(t)}
	c, err := client.New(cluster.Admin(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.client = w.recorder.Client(c)
	w.options.UpdatePolicy = new(reconciler.UpdatePolicySsaMerge)
	w.request = reconciler.Request{
		Owner: reconciler.Owner{ID: w.namespace}, Namespace: w.namespace, Objects: objects,
		Store: w.recorder.Store(&shard.Store{Client: w.client, Namespace: w.namespace}),
	}
	return w
}

// bare applies the objects with eight workers and nothing else.
func (w *world) bare() {
	next := make(chan *unstructured.Unstructured)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for u := range next {
				err := w.client.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("bare"), client.ForceOwnership)
				if err != nil {
					w.Error(err)
				}
			}
		})
	}
	for _, o := range w.request.Objects {
		u := o.Manifest.DeepCopy()
		u.SetNamespace(w.namespace)
		next <- u
	}
	close(next)
	wg.Wait()
}

// reconciler returns a new one, with the metadata reader if it is not nil.
func (w *world) reconciler(metadata client.Reader) *reconciler.Reconciler {
	o := w.options
	o.Metadata = metadata
	return reconciler.NewReconciler(name, w.client, o)
}

// pass makes a pass that has to end with everything done.
func (w *world) pass(rec *reconciler.Reconciler) {
	w.recorder.Reset()
	res, err := rec.Apply(w.Context(), w.request)
	if err != nil || !res.Done {
		w.Fatalf("the pass is not done: %v", err)
	}
	w.last = res
}

// count notes the calls of the last pass. Those of the store count as commits.
func (w *world) count(s *sample) {
	outside := func(c reconcilertest.Call) bool { return !c.Inner && c.Kind != "" }
	s.reads = len(w.recorder.Calls(outside, reconcilertest.Reads))
	s.writes = len(w.recorder.Calls(outside, reconcilertest.Writes))
	s.commits = len(w.recorder.Calls(func(c reconcilertest.Call) bool { return c.Verb == "commit" }))
}

// requests are the calls that reached the server since the last pass began.
func (w *world) requests() []reconcilertest.Call {
	return w.recorder.Calls(func(c reconcilertest.Call) bool { return c.Kind != "" })
}

var kind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// cache returns a cache of our objects' metadata, as the manager of an operator
// keeps it, once it has them all as the last pass left them.
func (w *world) cache() client.Reader {
	selector := stamp.Prefix(name).Selector(w.request.Owner.ID)
	c, err := cache.New(shared.Cluster(w).Admin(), cache.Options{
		DefaultNamespaces: map[string]cache.Config{w.namespace: {LabelSelector: selector}},
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	w.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			w.Error(err)
		}
	})
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind("ConfigMapList"))
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if err := c.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
		if w.current(list.Items) {
			return c
		}
		if time.Now().After(end) {
			w.Fatal("the cache has not caught up for a minute")
		}
	}
}

func (w *world) current(items []metav1.PartialObjectMetadata) bool {
	versions := map[string]string{}
	for i := range items {
		versions[items[i].Name] = items[i].ResourceVersion
	}
	return !slices.ContainsFunc(w.last.Inventory.Items, func(it inventory.Item) bool {
		return versions[it.Name] != it.ResourceVersion
	})
}

// TestCalls: how many calls a pass makes, with each reader.
func TestCalls(t *testing.T) {
	const n = 100
	w := newWorld(t, configMaps(n))
	var s sample
	w.pass(w.reconciler(nil))
	w.count(&s)
	if s.reads > n || s.writes != n || s.commits != 2 {
		t.Errorf("first pass: %d reads, %d writes, %d commits; want at most %d, %d and 2", s.reads, s.writes, s.commits, n, n)
	}
	readers := map[string]struct {
		metadata client.Reader
		reads    int
	}{
		"direct": {nil, n}, "list": {w.client, 1}, "cache": {w.cache(), 0},
	}
	for reader, want := range readers {
		// A new reconciler remembers nothing of earlier passes.
		w.pass(w.reconciler(want.metadata))
		w.count(&s)
		if got := len(w.requests()); got != want.reads || s.writes+s.commits > 0 {
			t.Errorf("unchanged, %s: %d requests, %d writes, %d commits; want %d, 0 and 0", reader, got, s.writes, s.commits, want.reads)
		}
	}
}

// BenchmarkFirstApply applies 1,000 ConfigMaps for the first time, beside a bare
// loop, each in a namespace of its own. They take turns in going first.
func BenchmarkFirstApply(b *testing.B) {
	objects := configMaps(1000)
	var bare, applied, posted sample
	first := func(s *sample, update reconciler.UpdatePolicy) {
		w := newWorld(b, objects)
		w.options.UpdatePolicy = &update
		s.time(func() { w.pass(w.reconciler(nil)) })
		w.count(s)
	}
	parts := []func(){
		func() { bare.time(newWorld(b, objects).bare) },
		func() { first(&applied, reconciler.UpdatePolicySsaMerge) },
		func() { first(&posted, reconciler.UpdatePolicyReplace) },
	}
	for n := 0; b.Loop(); n++ {
		for i := range parts {
			parts[(n+i)%len(parts)]()
		}
	}
	bare.writes = len(objects)
	results.bare, results.applied, results.posted = bare, applied.report(b), posted
	b.ReportMetric(times(applied.wall, bare.wall), "x-bare")
	b.ReportMetric(times(applied.all, bare.all), "x-bare-cpu")
}

// BenchmarkUnchanged makes passes over 1,000 ConfigMaps that have not changed,
// with each reader.
func BenchmarkUnchanged(b *testing.B) {
	w := newWorld(b, configMaps(1000))
	w.pass(w.reconciler(nil))
	for _, reader := range []struct {
		name     string
		metadata client.Reader
		into     *sample
	}{
		{"direct", nil, &results.direct}, {"list", w.client, &results.list}, {"cache", w.cache(), &results.cache},
	} {
		b.Run(reader.name, func(b *testing.B) {
			rec := w.reconciler(reader.metadata)
			*reader.into = w.steady(b, rec)
		})
	}
}

// BenchmarkMany makes passes over 10,000 ConfigMaps that have not changed, with
// a cache of their metadata.
func BenchmarkMany(b *testing.B) {
	w := newWorld(b, configMaps(10_000))
	w.pass(w.reconciler(nil))
	metadata := w.cache()
	before := inUse()
	rec := w.reconciler(metadata)
	results.many = w.steady(b, rec)
	results.many.heap = inUse() - before + w.garbage(rec)
	b.ReportMetric(results.many.heap, "heap-MiB")
}

// steady makes passes, each of which has nothing to do.
func (w *world) steady(b *testing.B, rec *reconciler.Reconciler) sample {
	w.TB = b
	w.pass(rec)
	var s sample
	b.ReportAllocs()
	for b.Loop() {
		s.time(func() { w.pass(rec) })
	}
	w.count(&s)
	if s.writes+s.commits > 0 {
		b.Errorf("a pass without changes made %d writes and %d commits", s.writes, s.commits)
	}
	return s.report(b)
}

// inUse returns the MiB of the heap that are in use.
func inUse() float64 {
	runtime.GC()
	runtime.GC()
	return allocated()
}

// garbage returns the MiB by which a pass lets the heap grow when nothing is
// collected meanwhile.
func (w *world) garbage(rec *reconciler.Reconciler) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := allocated()
	w.pass(rec)
	return allocated() - before
}

func allocated() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
