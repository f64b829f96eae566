package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

const name = "smoke.weir.dev"

// counter counts requests by method.
type counter struct {
	mu    sync.Mutex
	n     map[string]int
	paths []string
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.mu.Lock()
		method := r.Method
		if strings.Contains(r.URL.RawQuery, "dryRun") {
			method = "DRY"
		}
		if p := r.URL.Path; p != "/api" && p != "/apis" && strings.Count(p, "/") > 3 {
			c.n[method]++
			c.paths = append(c.paths, method+" "+p)
		}
		c.mu.Unlock()
		return next.RoundTrip(r)
	})
}

func (c *counter) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := maps.Clone(c.n)
	c.n, c.paths = map[string]int{}, nil
	return n
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// bench is an owner in a namespace of its own.
type bench struct {
	*testing.T
	client    client.Client
	admin     client.Client // not counted
	counter   *counter
	namespace string
	store     *inventory.Memory
	owner     string
	rec       *reconciler.Reconciler
	events    *[]plan.Outcome
}

func newBench(t *testing.T, o reconciler.ReconcilerOptions) *bench {
	t.Helper()
	cluster := shared.Cluster(t)
	b := &bench{T: t, counter: &counter{n: map[string]int{}}, store: &inventory.Memory{}, events: &[]plan.Outcome{}}
	b.namespace = cluster.Namespace(t)
	b.owner = "test/" + b.namespace
	cfg := rest.CopyConfig(cluster.Admin())
	b.admin = must(client.New(rest.CopyConfig(cfg), client.Options{}))(t)
	cfg.Wrap(b.counter.wrap)
	b.client = must(client.New(cfg, client.Options{}))(t)
	o.Observe = func(e plan.Outcome) { *b.events = append(*b.events, e) }
	b.rec = reconciler.NewReconciler(name, b.client, o)
	return b
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func objects(t testing.TB, text string) []reconciler.Object {
	t.Helper()
	var all []reconciler.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			t.Fatal(err)
		}
		normal, err := u.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := u.UnmarshalJSON(normal); err != nil {
			t.Fatal(err)
		}
		all = append(all, reconciler.Object{Manifest: u})
	}
	return all
}

func (b *bench) request(objs ...reconciler.Object) reconciler.Request {
	return reconciler.Request{
		Owner: reconciler.Owner{ID: b.owner}, Objects: objs, Namespace: b.namespace, Store: b.store,
	}
}

func (b *bench) apply(objs ...reconciler.Object) (*reconciler.Result, error) {
	b.Helper()
	return b.rec.Apply(context.Background(), b.request(objs...))
}

func (b *bench) want(res *reconciler.Result, err error, verbs ...plan.Verb) {
	b.Helper()
	if err != nil {
		b.Fatalf("pass: %v", err)
	}
	var got []plan.Verb
	for _, o := range res.Outcomes {
		got = append(got, o.Verb)
	}
	if fmt.Sprint(got) != fmt.Sprint(verbs) {
		b.Fatalf("verbs are %v, want %v\n%+v", got, verbs, res.Outcomes)
	}
}

func (b *bench) get(name string) *unstructured.Unstructured {
	b.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	if err := b.admin.Get(context.Background(), client.ObjectKey{Namespace: b.namespace, Name: name}, u); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		b.Fatal(err)
	}
	return u
}

func configMap(name string, data ...string) string {
	var s strings.Builder
	s.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n")
	for i := 0; i < len(data); i += 2 {
		fmt.Fprintf(&s, "  %s: %q\n", data[i], data[i+1])
	}
	return s.String()
}

func updates() []reconciler.UpdatePolicy {
	return []reconciler.UpdatePolicy{
		reconciler.UpdatePolicyReplace, reconciler.UpdatePolicyRecreate,
		reconciler.UpdatePolicySsaMerge, reconciler.UpdatePolicySsaOverride,
	}
}

func TestLifeOfAnObject(t *testing.T) {
	for _, u := range updates() {
		t.Run(string(u), func(t *testing.T) {
			b := newBench(t, reconciler.ReconcilerOptions{UpdatePolicy: new(u)})
			one := objects(t, configMap("a", "k", "1"))
			res, err := b.apply(one...)
			b.want(res, err, plan.Create)
			if !res.Done {
				t.Fatalf("not done: %+v", res.Outcomes)
			}
			t.Logf("create: %v", b.counter.take())
			first := b.get("a")

			res, err = b.apply(one...)
			b.want(res, err, plan.None)
			if n := b.counter.take(); n["GET"] != 1 || len(n) != 1 {
				t.Fatalf("steady state: %v", n)
			}

			// Drift of an own field is corrected, foreign fields are not noticed.
			edit := first.DeepCopy()
			if err := b.admin.Patch(t.Context(), edit, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"foreign":"x"}}}`)), client.FieldOwner("other")); err != nil {
				t.Fatal(err)
			}
			res, err = b.apply(one...)
			b.want(res, err, plan.None)
			if err := b.admin.Patch(t.Context(), edit, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"k":"2"}}`)), client.FieldOwner("other")); err != nil {
				t.Fatal(err)
			}
			res, err = b.apply(one...)
			verb := plan.Update
			if u == reconciler.UpdatePolicyRecreate {
				verb = plan.Recreate
			}
			b.want(res, err, verb)
			if got := b.get("a").Object["data"]; fmt.Sprint(got) != "map[k:1]" {
				t.Fatalf("data is %v", got)
			}
			b.counter.take()

			res, err = b.apply(objects(t, configMap("a", "k", "3"))...)
			b.want(res, err, verb)
			t.Logf("update: %v", b.counter.take())

			// The label is stripped: the stamp is restored.
			if err := b.admin.Patch(t.Context(), edit, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"smoke.weir.dev/owner-id":null}}}`))); err != nil {
				t.Fatal(err)
			}
			res, err = b.apply(objects(t, configMap("a", "k", "3"))...)
			if err != nil || !res.Outcomes[0].Verb.Writes() || b.get("a").GetLabels()["smoke.weir.dev/owner-id"] == "" {
				t.Fatalf("stamp: %v %+v", err, res.Outcomes)
			}
			res, err = b.apply(objects(t, configMap("a", "k", "3"))...)
			b.want(res, err, plan.None)
			b.counter.take()

			res, err = b.apply(objects(t, configMap("b", "k", "1"))...)
			b.want(res, err, plan.Create, plan.Delete)
			if b.get("a") != nil || !res.Done || len(res.Inventory.Items) != 1 {
				t.Fatalf("prune: %+v", res)
			}
			t.Logf("prune: %v", b.counter.take())
			res, err = b.rec.Delete(t.Context(), b.request())
			b.want(res, err, plan.Delete)
			if b.get("b") != nil || !res.Done || len(res.Inventory.Items) != 0 {
				t.Fatalf("delete: %+v", res)
			}
		})
	}
}

func TestAdoption(t *testing.T) {
	for _, u := range updates() {
		t.Run(string(u), func(t *testing.T) {
			b := newBench(t, reconciler.ReconcilerOptions{UpdatePolicy: new(u)})
			foreign := objects(t, configMap("a", "x", "1"))[0].Manifest
			foreign.SetNamespace(b.namespace)
			if err := b.admin.Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			never := objects(t, configMap("a", "k", "1"))
			never[0].Policy.Adoption = reconciler.AdoptionPolicyNever
			res, err := b.apply(never...)
			if conflict, ok := errors.AsType[*fault.OwnerConflict](err); !ok || conflict.Owner != "" {
				t.Fatalf("never: %v %+v", err, res)
			}
			if got := b.get("a"); got.GetResourceVersion() != foreign.GetResourceVersion() {
				t.Fatal("the foreign object was written")
			}
			res, err = b.apply(objects(t, configMap("a", "k", "1"))...)
			if err != nil || !res.Done || b.get("a").GetLabels()["smoke.weir.dev/owner-id"] == "" {
				t.Fatalf("if unowned: %v %+v", err, res)
			}
			// Another owner.
			other := *b
			other.owner, other.store = b.owner+"2", &inventory.Memory{}
			_, err = other.apply(objects(t, configMap("a", "k", "2"))...)
			if conflict, ok := errors.AsType[*fault.OwnerConflict](err); !ok || conflict.Owner != b.owner {
				t.Fatalf("conflict: %v", err)
			}
			always := objects(t, configMap("a", "k", "2"))
			always[0].Policy.Adoption = reconciler.AdoptionPolicyAlways
			res, err = other.apply(always...)
			if err != nil || !res.Done || res.Outcomes[0].Reasons[0] != plan.TakenOver {
				t.Fatalf("always: %v %+v", err, res)
			}
			_, err = b.apply(objects(t, configMap("a", "k", "1"))...)
			if _, ok := errors.AsType[*fault.OwnerConflict](err); !ok {
				t.Fatalf("stolen: %v", err)
			}
			mine := objects(t, configMap("a", "k", "1"))
			mine[0].Policy.Adoption = reconciler.AdoptionPolicyAlways
			if _, err = b.apply(mine...); err != nil {
				t.Fatal(err)
			}
			_, err = other.apply(always...)
			if conflict, ok := errors.AsType[*fault.OwnerConflict](err); !ok || !conflict.Fight {
				t.Fatalf("fight: %v", err)
			}
			// What is not ours is forgotten.
			res, err = other.rec.Delete(t.Context(), other.request())
			other.want(res, err, plan.Forget)
			if b.get("a") == nil {
				t.Fatal("deleted the object of another owner")
			}
		})
	}
}

func TestReclaim(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{UpdatePolicy: new(reconciler.UpdatePolicySsaOverride)})
	foreign := objects(t, configMap("a", "x", "1"))[0].Manifest
	foreign.SetNamespace(b.namespace)
	if err := b.admin.Create(t.Context(), foreign, client.FieldOwner("kubectl-create")); err != nil {
		t.Fatal(err)
	}
	res, err := b.apply(objects(t, configMap("a", "k", "1"))...)
	b.want(res, err, plan.Adopt)
	if got := b.get("a").Object["data"]; fmt.Sprint(got) != "map[k:1]" {
		t.Fatalf("data is %v", got)
	}
	res, err = b.apply(objects(t, configMap("a", "k", "1"))...)
	b.want(res, err, plan.None)
}

func TestPlanAndExecute(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{})
	q := b.request(objects(t, configMap("a", "k", "1")+"\n---\n"+configMap("b", "k", "1"))...)
	p, err := b.rec.Plan(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	n := b.counter.take()
	if n["POST"]+n["PUT"]+n["PATCH"]+n["DELETE"] > 0 || len(p.Apply) != 2 || p.Empty() {
		t.Fatalf("plan: %v %+v", n, p)
	}
	if err := b.admin.Create(t.Context(), func() *unstructured.Unstructured {
		u := q.Objects[1].Manifest.DeepCopy()
		u.SetNamespace(b.namespace)
		return u
	}()); err != nil {
		t.Fatal(err)
	}
	res, err := b.rec.Execute(t.Context(), p, q)
	if _, ok := errors.AsType[*fault.Stale](err); !ok || len(res.Outcomes) != 2 {
		t.Fatalf("execute: %v %+v", err, res)
	}
	if b.get("a") == nil || len(b.get("b").GetLabels()) > 0 {
		t.Fatal("a is missing or b was touched")
	}
}

func TestConvergeNamespaces(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{Parallel: 1})
	ns := b.namespace + "-x"
	set := objects(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: "+ns+"}\n---\n"+
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: "+ns+"}")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := reconciler.Converge(ctx, reconciler.Backoff{}, func(ctx context.Context) (*reconciler.Result, error) {
		return b.rec.Apply(ctx, b.request(set...))
	})
	if err != nil || len(res.Inventory.Items) != 2 {
		t.Fatalf("apply: %v %+v", err, res)
	}
	res, err = reconciler.Converge(ctx, reconciler.Backoff{}, func(ctx context.Context) (*reconciler.Result, error) {
		return b.rec.Delete(ctx, b.request())
	})
	if err != nil || len(res.Inventory.Items) != 0 {
		t.Fatalf("delete: %v %+v", err, res)
	}
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.smoke.weir.dev}
spec:
  group: smoke.weir.dev
  names: {kind: Foo, plural: foos, singular: foo, listKind: FooList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {value: {type: string}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: smoke.weir.dev/v1
kind: Foo
metadata: {name: foo}
spec: {value: x}`

func TestConvergeDefinitions(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := reconciler.Converge(ctx, reconciler.Backoff{}, func(ctx context.Context) (*reconciler.Result, error) {
		return b.rec.Apply(ctx, b.request(objects(t, crd)...))
	})
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	foreign := objects(t, strings.SplitAfter(crd, "---\n")[1])[0].Manifest
	foreign.SetNamespace(b.namespace)
	foreign.SetName("foreign")
	if err := b.admin.Create(ctx, foreign); err != nil {
		t.Fatal(err)
	}
	ok, why, err := b.rec.IsDeletionAllowed(ctx, b.request())
	if err != nil || ok || !strings.Contains(why, "foreign") {
		t.Fatalf("allowed: %v %q %v", ok, why, err)
	}
	// The definition leaves the set while a foreign instance exists.
	res, err := b.rec.Delete(ctx, b.request())
	if blocked, ok := errors.AsType[*fault.Blocked](err); !ok || blocked.Count != 1 {
		t.Fatalf("delete: %v %+v", err, res)
	}
	if err := b.admin.Delete(ctx, foreign); err != nil {
		t.Fatal(err)
	}
	_, err = reconciler.Converge(ctx, reconciler.Backoff{}, func(ctx context.Context) (*reconciler.Result, error) {
		return b.rec.Delete(ctx, b.request())
	})
	if err != nil {
		t.Fatalf("delete: %v", err)
	}
}
