package reconciler_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/reconcilertest"
	"github.com/weir-dev/weir/pkg/reconciler/shard"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// What a script cannot say.

// TestR15_OwnerHash holds the label's value to what other programs compute.
func TestR15_OwnerHash(t *testing.T) {
	for id, want := range map[string]string{
		"o1": "enjnu4ua6hpmyowpdoue5okfzh6cw62ucckoduezfw772g3gmtga",
		"o":  "mxduyfngqymhxnv37gky6skpy24aa2adjjszvgwujgi3bdcy6lja",
	} {
		if got := stamp.Hash(id); got != want {
			t.Errorf("the hash of %q is %s, not %s", id, got, want)
		}
	}
	w := start(t)
	w.owner = strings.Repeat("ü/ ", 300)
	w.mustApply(t, configMap("x", "a", "1"))
	u, err := w.get("ConfigMap", "x")
	if err != nil {
		t.Fatal(err)
	}
	if got := u.GetLabels()[name+"/owner-id"]; got != stamp.Hash(w.owner) || len(got) != 52 {
		t.Errorf("the label is %q", got)
	}
	if got := u.GetAnnotations()[name+"/owner-id"]; got != w.owner {
		t.Errorf("the annotation is %q", got)
	}
}

// TestR21_NoReconcileOption: the reconcile policy is no option of a reconciler.
func TestR21_NoReconcileOption(t *testing.T) {
	options := reflect.TypeFor[reconciler.ReconcilerOptions]()
	for i := range options.NumField() {
		f := options.Field(i)
		if f.Type == reflect.TypeFor[*reconciler.ReconcilePolicy]() || f.Type == reflect.TypeFor[reconciler.ReconcilePolicy]() {
			t.Errorf("%s is an option", f.Name)
		}
	}
	w := start(t)
	res := w.mustApply(t, configMap("x", "a", "1"))
	if it, _ := res.Inventory.Find(res.Outcomes[0].Key); it.Policy.Reconcile != reconciler.ReconcilePolicyOnObjectChange {
		t.Errorf("the reconcile policy is %s", it.Policy.Reconcile)
	}
}

func digest(t *testing.T, text string) string {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	d, err := object.Norm{Namespaced: true, Namespace: "ns"}.Digest(u)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestR25_ServerFieldsAreNotDigested: what a server sets does not count.
func TestR25_ServerFieldsAreNotDigested(t *testing.T) {
	const plain = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1"}}`
	const served = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"ns","resourceVersion":"7",
		"generation":3,"managedFields":[{"manager":"m"}]},"data":{"a":"1"}}`
	const changed = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"2"}}`
	if digest(t, plain) != digest(t, served) {
		t.Error("the digests differ")
	}
	if digest(t, plain) == digest(t, changed) {
		t.Error("the digest does not see a change")
	}
}

// TestR27_DigestOfContent: digests are of JSON content, so that no version of
// Go types changes them. The one here is for ever.
func TestR27_DigestOfContent(t *testing.T) {
	const text = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x","creationTimestamp":null,"labels":{}},
		"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i","resources":{}}]}}}}`
	const pruned = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},
		"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i","resources":{}}]}}}}`
	if got, want := digest(t, text), "14f4d1f23b2a6de273c1ffc62cd6001e"; got != want {
		t.Errorf("the digest is %s, not %s", got, want)
	}
	if digest(t, text) != digest(t, pruned) {
		t.Error("nulls and empty maps in the metadata count")
	}
}

// start returns a world for a Go test.
func start(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w, err := newWorld(t, shared.Cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) wants(manifests ...*unstructured.Unstructured) reconciler.Request {
	q, _ := w.request(&call{})
	for _, m := range manifests {
		q.Objects = append(q.Objects, reconciler.Object{Manifest: m})
	}
	return q
}

func (w *world) mustApply(t *testing.T, manifests ...*unstructured.Unstructured) *reconciler.Result {
	t.Helper()
	w.begin()
	res, err := w.reconciler.Apply(t.Context(), w.wants(manifests...))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func configMap(name, key, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
		"data": map[string]any{key: value},
	}}
}

// TestR101_Readers: a pass without changes costs one list with a lister, and
// nothing with a cache.
func TestR101_Readers(t *testing.T) {
	const n = 20
	var set []*unstructured.Unstructured
	for i := range n {
		set = append(set, configMap(fmt.Sprint("x", i), "a", "1"))
	}
	t.Run("list", func(t *testing.T) {
		w := start(t)
		w.options.Metadata = w.client
		w.renew()
		w.mustApply(t, set...)
		w.mustApply(t, set...) // learns the versions
		if res := w.mustApply(t, set...); !res.Done {
			t.Error("not done")
		}
		if reads := w.recorder.Calls(reconcilertest.Reads); len(reads) != 1 || reads[0].Verb != "list" || !reads[0].Metadata {
			t.Errorf("it reads %v", reads)
		}
	})
	t.Run("cache", func(t *testing.T) {
		w := start(t)
		w.options.Metadata = cached(t, w)
		w.renew()
		w.mustApply(t, set...)
		audit := w.cluster.Audit(t)
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			res := w.mustApply(t, set...)
			calls := w.recorder.Calls(func(c reconcilertest.Call) bool { return c.Verb != "load" })
			if res.Done && len(calls) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("done is %t, and it makes the calls %v", res.Done, calls)
			}
		}
		if writes := audit.Events(t, testcluster.Query{Namespace: w.namespace, Writes: true}); len(writes) > 0 {
			t.Errorf("the server saw %v", writes)
		}
	})
}

// cached returns a cache of metadata in the namespace.
func cached(t *testing.T, w *world) client.Reader {
	t.Helper()
	c, err := cache.New(w.cluster.Admin(), cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := c.Start(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	m := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	if _, err := c.GetInformer(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not fill")
	}
	return c
}

// TestR102_LargeInventory: ten thousand items are stored in objects that the
// server takes with room to spare.
func TestR102_LargeInventory(t *testing.T) {
	w := start(t)
	var items []inventory.Item
	for i := range 10_000 {
		items = append(items, inventory.Item{
			Key:     object.Key{Group: "apps", Kind: "Deployment", Namespace: fmt.Sprintf("tenant-%d-production", i%500), Name: fmt.Sprintf("service-%d", i)},
			Version: "v1", UID: types.UID(rand.Text()), ResourceVersion: strconv.Itoa(100_000 + i), State: inventory.Ready, Created: true,
			Digest: strings.ToLower(rand.Text() + rand.Text())[:32], Owned: strings.ToLower(rand.Text())[:16], At: metav1.Now().Rfc3339Copy(),
		})
	}
	want := inventory.New("", items)
	store := func() *shard.Store { return &shard.Store{Client: w.client, Namespace: w.namespace} }
	v, err := store().Load(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store().Commit(t.Context(), "alice", inventory.Change{Base: v, Next: want}); err != nil {
		t.Fatal(err)
	}
	got, err := store().Load(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Items) != len(want.Items) {
		t.Fatalf("%d items, not %d", len(got.Items), len(want.Items))
	}
	for i := range got.Items {
		a, _ := json.Marshal(got.Items[i])
		b, _ := json.Marshal(want.Items[i])
		if string(a) != string(b) {
			t.Fatalf("an item is %s, not %s", a, b)
		}
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("v1")
	list.SetKind("ConfigMapList")
	if err := w.admin.List(t.Context(), list, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, u := range list.Items {
		text, _ := json.Marshal(u.Object)
		t.Logf("%s: %d bytes", u.GetName(), len(text))
		if len(text) > 1<<20 {
			t.Errorf("%s has %d bytes", u.GetName(), len(text))
		}
	}
}

// TestR103_PlanIsExecuted: a plan that was stored and read again is carried
// out to the letter, and what has changed since is left alone.
func TestR103_PlanIsExecuted(t *testing.T) {
	w := start(t)
	w.mustApply(t, configMap("old", "a", "1"), configMap("x", "a", "1"))
	q := w.wants(configMap("x", "a", "2"), configMap("new", "a", "1"))
	p, err := w.reconciler.Plan(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.reconciler.Plan(t.Context(), q); err != nil {
		t.Fatal(err)
	} else if b, _ := json.Marshal(again); string(b) != string(text) {
		t.Errorf("the plan is %s\nand then %s", text, b)
	}
	stored := &plan.Plan{}
	if err := json.Unmarshal(text, stored); err != nil {
		t.Fatal(err)
	}
	// Meanwhile x changes.
	if err := w.act(context.Background(), "bob", "merge", inNamespace(w, configMap("x", "b", "1"))); err != nil {
		t.Fatal(err)
	}
	w.begin()
	_, err = w.reconciler.Execute(t.Context(), stored, q)
	if stale, ok := errors.AsType[*fault.Stale](err); !ok || stale.Key.Name != "x" {
		t.Errorf("the error is %v", err)
	}
	if got := w.lines(nil, reconcilertest.Writes); strings.Join(got, ", ") != "create ConfigMap NS/new" {
		t.Errorf("the writes are %v", got) // what goes waits for what comes
	}
	w.mustApply(t, configMap("x", "a", "2"), configMap("new", "a", "1"))

	// Nothing changed: the calls are those of the plan.
	q = w.wants(configMap("x", "a", "3"))
	if p, err = w.reconciler.Plan(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	w.begin()
	if _, err := w.reconciler.Execute(t.Context(), p, q); err != nil {
		text, _ := json.Marshal(p)
		t.Errorf("%v: %s\n%s", err, text, strings.Join(w.lines(nil), "\n"))
	}
	if got := w.lines(nil, reconcilertest.Writes); strings.Join(got, ", ") != "update ConfigMap NS/x, delete ConfigMap NS/new" {
		t.Errorf("the writes are %v", got)
	}
}

func inNamespace(w *world, u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetNamespace(w.namespace)
	return u
}
