package publish_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/ledger"
	"github.com/weir-dev/weir/internal/controller/publish"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/internal/tree"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// desk is a publisher with a cluster and a store that fail on request. The
// cluster is a fake, which is enough for what is counted here; package
// artifactgenerator plays everything on a real one.
type desk struct {
	t *testing.T
	client.Client
	*publish.Publisher

	broken map[string]bool // names of objects that cannot be written, and "disk NAME"
	writes atomic.Int64
}

var errBroken = errors.New("broken")

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, broken: map[string]bool{}}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{sourcev1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(external.Kind, apimeta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), apimeta.RESTScopeRoot)
	d.Client = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "apps"}}).
		WithStatusSubresource(&sourcev1.ExternalArtifact{}).
		WithIndex(&sourcev1.ExternalArtifact{}, publish.IndexGenerator, func(o client.Object) []string {
			return []string{o.GetLabels()[v1beta1.LabelGenerator]}
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				d.writes.Add(1)
				return c.Apply(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				return d.write(o, func() error { return c.Patch(ctx, o, p, opts...) })
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				return d.write(o, func() error { return c.Create(ctx, o, opts...) })
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				return d.write(o, func() error { return c.Delete(ctx, o, opts...) })
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				return d.write(o, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
			},
		}).Build()
	disk, err := store.OpenDisk(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.Close() })
	d.Publisher = publish.New(publish.Options{
		Client: d.Client, Direct: d.Client, Store: fragile{disk, d.broken}, Ledger: &ledger.Ledger{},
		URL: func(path string) string { return "http://store/" + path },
	})
	return d
}

// write counts a write, or lets it fail.
func (d *desk) write(o client.Object, do func() error) error {
	if d.broken[o.GetName()] {
		return errBroken
	}
	d.writes.Add(1)
	return do()
}

// fragile is a store that cannot store what is broken on "disk NAME".
type fragile struct {
	store.Store
	broken map[string]bool
}

func (f fragile) Put(ctx context.Context, name types.NamespacedName, t tree.Tree, content blob.Digest) (store.Artifact, error) {
	if f.broken["disk "+name.Name] {
		return store.Artifact{}, fail.Retried(v1beta1.ReasonReconciliationFailed, "the disk is full")
	}
	return f.Store.Put(ctx, name, t, content)
}

// publish publishes artifacts given as "name=content …", of which those before
// were known.
func (d *desk) publish(known, artifacts string) *publish.Outcome {
	d.t.Helper()
	d.writes.Store(0)
	q := publish.Request{UID: "uid", Owner: external.Owner{Namespace: "apps", Name: "gen"}}
	for _, name := range strings.Fields(known) {
		q.Known = append(q.Known, external.KeyOf("apps", name))
	}
	for _, text := range strings.Fields(artifacts) {
		name, content, _ := strings.Cut(text, "=")
		var b tree.Builder
		if err := b.AddFile("f", false, blob.Of([]byte(content))); err != nil {
			d.t.Fatal(err)
		}
		a := build.Artifact{Namespace: "apps", Name: name, Tree: b.Tree(), Content: pack.Digest(b.Tree())}
		a.Revision = pack.Revision(a.Content)
		q.Artifacts = append(q.Artifacts, a)
	}
	out, err := d.Publish(d.t.Context(), q)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

// is fails the test unless the outcome and the number of writes are as wanted.
func (d *desk) is(out *publish.Outcome, writes int, want ...string) {
	d.t.Helper()
	var got []string
	add := func(what string, keys []object.Key) {
		var names []string
		for _, k := range keys {
			names = append(names, k.Name)
		}
		slices.Sort(names)
		if len(names) > 0 {
			got = append(got, what+" "+strings.Join(names, " "))
		}
	}
	add("published", slices.Collect(maps.Keys(out.Published)))
	add("left", slices.Collect(maps.Keys(out.Left)))
	for _, c := range out.Changes {
		got = append(got, fmt.Sprintf("change %s kind=%d revised=%v", c.Name, c.Kind, c.Revised))
	}
	for _, k := range slices.SortedFunc(maps.Keys(out.Failed), object.Key.Compare) {
		got = append(got, "failed "+k.Name+" "+out.Failed[k].Reason)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || d.writes.Load() != int64(writes) {
		d.t.Errorf("%d writes, want %d; outcome (-want +got):\n%s", d.writes.Load(), writes, diff)
	}
}

func TestPublish(t *testing.T) {
	d := newDesk(t)
	d.is(d.publish("", "a=1 b=1"), 4, "published a b", "left a b", "change a kind=1 revised=true", "change b kind=1 revised=true")
	d.is(d.publish("a b", "a=1 b=1"), 0, "published a b", "left a b")
	d.is(d.publish("a b", "a=2 b=1"), 1, "published a b", "left a b", "change a kind=0 revised=true")
	d.is(d.publish("a b", "a=2"), 1, "published a", "left a", "change b kind=4 revised=false")
}

// What fails, on disk or in the cluster, leaves the others alone, and is told.
func TestFailuresAreIsolated(t *testing.T) {
	d := newDesk(t)
	d.publish("", "a=1 b=1 c=1")
	d.broken["disk a"], d.broken["b"] = true, true
	out := d.publish("a b c", "a=2 b=2 d=1")
	d.is(out, 3, "published d", "left b d", "change d kind=1 revised=true", "change c kind=4 revised=false",
		"failed a ReconciliationFailed", "failed b ReconciliationFailed")
	clear(d.broken)
	d.broken["d"] = true
	d.is(d.publish("a b d", "a=2 b=2"), 2, "published a b", "left a b d", "change a kind=0 revised=true", "change b kind=0 revised=true",
		"failed d PruneFailed")
}

// What is to be kept is not touched, published or not.
func TestKeep(t *testing.T) {
	d := newDesk(t)
	d.publish("", "a=1 b=1")
	d.writes.Store(0)
	out, err := d.Publish(t.Context(), publish.Request{
		UID: "uid", Owner: external.Owner{Namespace: "apps", Name: "gen"}, Keep: []object.Key{external.KeyOf("apps", "a")},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.is(out, 1, "change b kind=4 revised=false")
}

func TestWithdraw(t *testing.T) {
	d := newDesk(t)
	d.publish("", "a=1 b=1")
	d.broken["b"] = true
	q := publish.Request{UID: "uid"}
	out, err := d.Withdraw(t.Context(), q)
	b := external.KeyOf("apps", "b")
	if err != nil || !out.Left[b] || out.Failed[b] == nil || out.Failed[b].Reason != v1beta1.ReasonPruneFailed {
		t.Errorf("got %+v, %v", out, err)
	}
	clear(d.broken)
	if out, err := d.Withdraw(t.Context(), q); err != nil || len(out.Left) != 0 {
		t.Errorf("got %+v, %v", out, err)
	}
}

// An object whose file is gone says so, unless it speaks of another file.
func TestDisclaim(t *testing.T) {
	d := newDesk(t)
	d.publish("", "a=1 b=1")
	o := &sourcev1.ExternalArtifact{}
	if err := d.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "a"}, o); err != nil {
		t.Fatal(err)
	}
	d.writes.Store(0)
	for range 2 {
		err := d.Disclaim(t.Context(), "uid", map[object.Key]string{
			external.KeyOf("apps", "a"): o.Status.Artifact.Path, external.KeyOf("apps", "b"): "other", external.KeyOf("apps", "c"): "none",
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := d.writes.Load(); n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
	d.is(d.publish("a b", "a=1 b=1"), 1, "published a b", "left a b", "change a kind=0 revised=false")
}
