package reconciler_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// R101: with a cache of metadata a pass without changes sends no request, with
// the client as the reader of metadata one list; a drift is still noticed.
func TestR101Metadata(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{})
	stamped, err := labels.NewRequirement(name+"/owner-id", selection.Exists, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.New(shared.Cluster(t).Admin(), cache.Options{
		Mapper: b.admin.RESTMapper(), Scheme: b.admin.Scheme(), DefaultLabelSelector: labels.NewSelector().Add(*stamped),
		ReaderFailOnMissingInformer: false,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})

	cached := reconciler.NewReconciler(name, b.client, reconciler.ReconcilerOptions{Metadata: c})
	listed := reconciler.NewReconciler(name, b.client, reconciler.ReconcilerOptions{Metadata: b.client})
	q := b.request(configMaps(20)...)
	if _, err := cached.Apply(ctx, q); err != nil {
		t.Fatal(err)
	}
	settle := func(rec *reconciler.Reconciler, want int) {
		t.Helper()
		for range 100 {
			b.counter.take()
			res, err := rec.Apply(ctx, q)
			if err != nil || !res.Done {
				t.Fatal(err)
			}
			n := b.counter.take()
			if len(n) == min(want, 1) && n["GET"] == want {
				return
			}
			time.Sleep(20 * time.Millisecond) // until the cache has caught up
		}
		t.Fatal("the reconciler goes on reading")
	}
	settle(cached, 0)
	settle(listed, 1)
	// Another process, which remembers nothing, needs no more.
	settle(reconciler.NewReconciler(name, b.client, reconciler.ReconcilerOptions{Metadata: c}), 0)

	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"index":"x"}}`))
	if err := b.admin.Patch(ctx, b.get("profile-00007"), patch); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		res, err := cached.Apply(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range res.Outcomes {
			if o.Verb == plan.Update && o.Reasons[0] == plan.FieldsDrifted && o.Name == "profile-00007" {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the drift was not noticed")
}

// A status field as the store: the write-ahead commit is a write of its own,
// the last one is left to the caller.
func TestFieldStore(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{})
	var stored []byte
	version, sets := 0, 0
	store := &inventory.Field{
		Defer: true,
		Get: func(context.Context) ([]inventory.Item, string, error) {
			if stored == nil {
				return nil, strconv.Itoa(version), nil
			}
			items, err := inventory.Decode(stored)
			return items, strconv.Itoa(version), err
		},
		Set: func(_ context.Context, v string, items []inventory.Item) (string, error) {
			if v != strconv.Itoa(version) {
				return "", inventory.ErrConflict
			}
			var err error
			stored, err = inventory.Encode(items)
			version++
			sets++
			return strconv.Itoa(version), err
		},
	}
	q := b.request(configMaps(2)...)
	q.Store = store
	res, err := b.rec.Apply(t.Context(), q)
	b.want(res, err, plan.Create, plan.Create)
	if sets != 1 {
		t.Fatalf("%d commits were written, want the one ahead", sets)
	}
	// The caller did not write its status: nothing is lost.
	res, err = b.rec.Apply(t.Context(), q)
	b.want(res, err, plan.None, plan.None)
	if stored, err = inventory.Encode(res.Inventory.Items); err != nil {
		t.Fatal(err)
	}
	b.counter.take()
	res, err = b.rec.Apply(t.Context(), q)
	b.want(res, err, plan.None, plan.None)
	if n := b.counter.take(); n["GET"] != 2 || len(n) != 1 || sets != 1 {
		t.Fatalf("requests %v, commits %d", n, sets)
	}
}

// guardian reads directives from annotations, as a controller of namespaces
// does.
type guardian struct{}

func (guardian) Direct(live *unstructured.Unstructured) plan.Directive {
	switch live.GetAnnotations()["mode"] {
	case "paused":
		return plan.Directive{SkipApply: true, Keep: true, Reason: "mode is paused"}
	case "given":
		return plan.Directive{HandOver: true}
	case "wrong":
		return plan.Directive{Reject: true, Reason: "mode is wrong"}
	case "merge":
		return plan.Directive{Update: policy.SsaMerge}
	}
	return plan.Directive{}
}

// lawyer forbids every deletion.
type lawyer struct{}

func (lawyer) Direct(*unstructured.Unstructured) plan.Directive {
	return plan.Directive{RejectDelete: true, Reason: "no"}
}

// The stamp, policies and directives of a controller that manages namespaces.
func TestDirectives(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{
		Director: guardian{}, UpdatePolicy: new(reconciler.UpdatePolicySsaOverride),
		AdoptionPolicy: new(reconciler.AdoptionPolicyAlways),
		Stamp:          stamp.Stamp{Label: "generator", Plain: true, Labels: map[string]string{"managed-by": "weir"}},
	})
	b.owner = "uid-1"
	mode := func(m string) {
		t.Helper()
		u := b.get("a")
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"mode":%q}},"data":{"extra":"1"}}`, m)
		if err := b.admin.Patch(t.Context(), u, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("kubectl-edit")); err != nil {
			t.Fatal(err)
		}
	}
	one, two := objects(t, configMap("a", "k", "1")), objects(t, configMap("a", "k", "2"))
	res, err := b.apply(one...)
	b.want(res, err, plan.Create)
	if l := b.get("a").GetLabels(); l["generator"] != "uid-1" || l["managed-by"] != "weir" || len(b.get("a").GetAnnotations()) > 0 {
		t.Fatalf("the stamp is %v", b.get("a").Object["metadata"])
	}
	mode("paused")
	res, err = b.apply(two...)
	b.want(res, err, plan.Skip)
	mode("wrong")
	if _, err = b.apply(two...); err == nil {
		t.Fatal("a wrong directive is no error")
	}
	mode("kept") // for a request with a director of its own
	q := b.request()
	q.Director = lawyer{}
	if res, err = b.rec.Apply(t.Context(), q); err == nil || res.Outcomes[0].Verb != plan.Refuse {
		t.Fatalf("the request's director is not asked: %+v, %v", res, err)
	}
	mode("merge") // fields of kubectl stay
	res, err = b.apply(two...)
	b.want(res, err, plan.Update)
	b.data("map[extra:1 k:2]")
	res, err = b.apply(two...)
	b.want(res, err, plan.None)
	// Reclaiming takes the annotation that asked for merging.
	mode("")
	res, err = b.apply(two...)
	b.want(res, err, plan.Update)
	b.data("map[k:2]")

	mode("wrong")
	if _, err = b.rec.Delete(t.Context(), b.request()); err == nil {
		t.Fatal("a wrong directive is no error")
	}
	mode("paused")
	res, err = b.rec.Delete(t.Context(), b.request())
	b.want(res, err, plan.Release)
	if l := b.get("a").GetLabels(); len(l) > 0 {
		t.Fatalf("labels are %v", l)
	}
	mode("given")
	res, err = b.apply(two...)
	b.want(res, err, plan.Adopt)
	mode("given")
	res, err = b.rec.Delete(t.Context(), b.request())
	b.want(res, err, plan.Forget)
	if !res.Done || b.get("a").GetLabels()["generator"] == "" {
		t.Fatal("what was handed over was touched")
	}
}

// A kind whose definition is removed under us, cluster-scoped and without a
// namespace of its own, keeps its identity.
func TestVanishedKind(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	set := objects(t, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.vanish.weir.dev}
spec:
  group: vanish.weir.dev
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: vanish.weir.dev/v1
kind: Thing
metadata: {name: one}`)
	definition := set[0].Manifest
	if err := b.admin.Create(ctx, definition.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	pass := func(ctx context.Context) (*reconciler.Result, error) { return b.rec.Apply(ctx, b.request(set[1])) }
	if _, err := reconciler.Converge(ctx, reconciler.Backoff{}, pass); err != nil {
		t.Fatal(err)
	}
	if err := b.admin.Delete(ctx, definition); err != nil {
		t.Fatal(err)
	}
	for {
		err := b.admin.Get(ctx, client.ObjectKeyFromObject(definition), &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{
			APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}})
		if client.IgnoreNotFound(err) == nil && err != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	fresh := must(client.New(shared.Cluster(t).Admin(), client.Options{}))(t)
	q := b.request(set[1])
	q.Client = fresh
	res, err := b.rec.Apply(ctx, q)
	b.want(res, err, plan.Wait)
	if k := res.Inventory.Items[0].Key; len(res.Inventory.Items) != 1 || k.Namespace != "" {
		t.Fatalf("the inventory holds %v", res.Inventory.Items)
	}
	q.Objects = nil
	res, err = b.rec.Delete(ctx, q)
	b.want(res, err, plan.Forget)
}
