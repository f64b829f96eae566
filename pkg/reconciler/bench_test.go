package reconciler_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/shard"
)

// configMaps returns n ConfigMaps as a controller would render them.
func configMaps(n int) []reconciler.Object {
	all := make([]reconciler.Object, n)
	for i := range all {
		all[i].Manifest = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{
				"name": fmt.Sprintf("profile-%05d", i), "labels": map[string]any{"app": "profile", "index": strconv.Itoa(i)},
			},
			"data": map[string]any{"environment": "production", "index": strconv.Itoa(i), "config.yaml": "a: 1\nb: 2\nc: 3\n"},
		}}
	}
	return all
}

// bare applies the objects with eight workers and nothing else.
func bare(b *testing.B, c client.Client, namespace string, objs []reconciler.Object) time.Duration {
	begin := time.Now()
	next := make(chan *unstructured.Unstructured)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for u := range next {
				if err := c.Apply(b.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("bare"), client.ForceOwnership); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for _, o := range objs {
		u := o.Manifest.DeepCopy()
		u.SetNamespace(namespace)
		next <- u
	}
	close(next)
	wg.Wait()
	return time.Since(begin)
}

// BenchmarkFirstApply applies 1,000 ConfigMaps for the first time, against a
// bare loop of applies in the same run, and then once more.
func BenchmarkFirstApply(b *testing.B) {
	cluster := shared.Cluster(b)
	count := &counter{n: map[string]int{}}
	cfg := rest.CopyConfig(cluster.Admin())
	cfg.Wrap(count.wrap)
	c := must(client.New(cfg, client.Options{}))(b)
	var loop, first, second time.Duration
	for b.Loop() {
		objs := configMaps(1000)
		loop += bare(b, c, cluster.Namespace(b), objs)
		ns := cluster.Namespace(b)
		store := &shard.Store{Client: c, Namespace: ns}
		q := reconciler.Request{Owner: reconciler.Owner{ID: ns}, Namespace: ns, Objects: objs, Store: store}
		rec := reconciler.NewReconciler("bench.weir.dev", c, reconciler.ReconcilerOptions{
			UpdatePolicy: new(reconciler.UpdatePolicySsaMerge),
		})
		count.take()
		begin := time.Now()
		res, err := rec.Apply(b.Context(), q)
		first += time.Since(begin)
		if err != nil || !res.Done {
			b.Fatal(err)
		}
		b.Logf("first pass: %v", count.take())
		begin = time.Now()
		if _, err := rec.Apply(b.Context(), q); err != nil {
			b.Fatal(err)
		}
		second += time.Since(begin)
		b.Logf("second pass: %v", count.take())
	}
	b.ReportMetric(float64(loop.Milliseconds())/float64(b.N), "ms/bare")
	b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "ms/first")
	b.ReportMetric(float64(second.Milliseconds())/float64(b.N), "ms/second")
	b.ReportMetric(float64(first)/float64(loop), "first/bare")
}

// memory is a client of a server in memory that knows just enough for a
// steady state: it applies absent objects and lists metadata.
type memory struct {
	client.Client
	mapper meta.RESTMapper

	mu       sync.Mutex
	requests int
	objects  map[string]*unstructured.Unstructured
	list     []metav1.PartialObjectMetadata
}

func newMemory() *memory {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	return &memory{mapper: m, objects: map[string]*unstructured.Unstructured{}}
}

func (m *memory) RESTMapper() meta.RESTMapper { return m.mapper }

func (m *memory) Get(_ context.Context, k client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	u := o.(*unstructured.Unstructured)
	if u.GetKind() == "Namespace" {
		return nil
	}
	if have := m.objects[k.Name]; have != nil {
		have.DeepCopyInto(u)
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, k.Name)
}

func (m *memory) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	u := o.(*unstructured.Unstructured)
	u.SetUID(types.UID("uid-" + u.GetName()))
	u.SetResourceVersion(strconv.Itoa(len(m.list) + 2))
	m.objects[u.GetName()] = u.DeepCopy()
	m.list = append(m.list, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Labels: u.GetLabels(),
	}})
	return nil
}

func (m *memory) List(_ context.Context, l client.ObjectList, _ ...client.ListOption) error {
	if l, ok := l.(*metav1.PartialObjectMetadataList); ok {
		l.Items = m.list
	}
	return nil
}

func (m *memory) Scheme() *runtime.Scheme { return nil }

// BenchmarkSteady makes passes over 10,000 objects that have not changed, by a
// cache of their metadata.
func BenchmarkSteady(b *testing.B) {
	m := newMemory()
	rec := reconciler.NewReconciler("bench.weir.dev", m, reconciler.ReconcilerOptions{Metadata: m})
	q := reconciler.Request{
		Owner: reconciler.Owner{ID: "bench"}, Namespace: "bench", Objects: configMaps(10_000), Store: &inventory.Memory{},
	}
	for range 2 {
		if res, err := rec.Apply(b.Context(), q); err != nil || !res.Done {
			b.Fatal(err)
		}
	}
	m.requests = 0
	begin := cpu(b)
	b.ReportAllocs()
	for b.Loop() {
		res, err := rec.Apply(b.Context(), q)
		if err != nil || !res.Done {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu(b)-begin).Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(m.requests), "requests")
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
