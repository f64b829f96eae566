package main

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/testcluster"
)

var shared testcluster.Shared

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(shared.Run(m))
}

// agent tells the operator's requests from those of the test.
const agent = "site-operator"

var siteKind = schema.GroupVersionKind{Group: "example.weir.dev", Version: "v1", Kind: "Site"}

// TestSize: an operator is less than 150 lines of code, without imports,
// comments and what is generated.
func TestSize(t *testing.T) {
	lines := 0
	for _, file := range []string{"main.go", "site.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(string(text), "\n)\n")
		for line := range strings.Lines(code) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
	}
	if lines >= 150 {
		t.Errorf("%d lines", lines)
	}
}

// world is a cluster with a running operator, and a namespace in it.
type world struct {
	client.Client

	t         *testing.T
	cluster   *testcluster.Cluster
	namespace string
}

func TestOperator(t *testing.T) {
	w := newWorld(t)
	site := w.read("site.yaml")
	site.SetNamespace(w.namespace)
	w.must(w.Create(t.Context(), site))

	t.Log("create: its dependents exist; it is ready once they are")
	web := w.eventually("Deployment", func(u *unstructured.Unstructured) bool { return u != nil })
	w.ready("False", "waiting for dependents")
	w.finish(web)
	w.ready("True", "all dependents are ready")
	for _, kind := range []string{"ServiceAccount", "ConfigMap", "Service"} {
		if u := w.get(kind); u == nil {
			t.Errorf("there is no %s", kind)
		}
	}

	t.Log("nothing changed: no request")
	audit := w.cluster.Audit(t)
	for _, seen := range []string{"once", "twice", "thrice"} { // the first pass may be an earlier one
		passes := w.passes()
		w.patch(site, `{"metadata":{"labels":{"seen":"`+seen+`"}}}`)
		w.until("another pass", func() bool { return w.passes() > passes })
	}
	if got := w.requests(audit, testcluster.Query{}); len(got) > 0 {
		t.Errorf("requests of a pass without changes: %q", got)
	}

	t.Log("change: only what changed is written")
	audit = w.cluster.Audit(t)
	w.patch(site, `{"spec":{"title":"News & more: \"all\""}}`)
	w.title("<h1>News &amp; more: &#34;all&#34;</h1>")
	w.ready("True", "all dependents are ready")
	w.wrote(audit, "patch configmaps", "update sites/status")

	t.Log("drift: it is put right")
	w.patch(w.get("ConfigMap"), `{"data":{"index.html":"mine"}}`)
	w.title("<h1>News &amp; more: &#34;all&#34;</h1>")

	t.Log("delete: its dependents go, then the site")
	w.must(w.Delete(t.Context(), site))
	w.eventually("Site", func(u *unstructured.Unstructured) bool { return u == nil })
	for _, kind := range []string{"ServiceAccount", "ConfigMap", "Deployment", "Service"} {
		if u := w.get(kind); u != nil {
			t.Errorf("%s is left: %v", kind, u.GetDeletionTimestamp())
		}
	}
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, cluster: shared.Cluster(t)}
	w.namespace = w.cluster.Namespace(t)
	var err error
	w.Client, err = client.New(w.cluster.Admin(), client.Options{})
	w.must(err)
	w.must(client.IgnoreAlreadyExists(w.Create(t.Context(), w.read("crd.yaml"))))
	w.until("the kind is served", func() bool { // by discovery too, which the operator asks
		_, err := w.RESTMapper().RESTMapping(siteKind.GroupKind(), siteKind.Version)
		return err == nil
	})

	config := w.cluster.Admin()
	config.UserAgent = agent
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	options := ctrl.Options{Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard()}
	options.Controller.SkipNameValidation = new(true) // go test -count
	go func() { ended <- run(ctx, config, options) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error("the operator ended:", err)
		}
	})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(file string) *unstructured.Unstructured {
	w.t.Helper()
	text, err := os.ReadFile(file)
	w.must(err)
	u := &unstructured.Unstructured{}
	w.must(yaml.Unmarshal(text, &u.Object))
	return u
}

// get returns the object of the site, nil if it is absent.
func (w *world) get(kind string) *unstructured.Unstructured {
	w.t.Helper()
	u := &unstructured.Unstructured{}
	switch kind {
	case "Site":
		u.SetGroupVersionKind(siteKind)
	case "Deployment":
		u.SetAPIVersion("apps/v1")
		u.SetKind(kind)
	default:
		u.SetAPIVersion("v1")
		u.SetKind(kind)
	}
	err := w.Get(w.t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "home"}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	return u
}

func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("not within a minute: %s", what)
		}
	}
}

func (w *world) eventually(kind string, ok func(*unstructured.Unstructured) bool) (u *unstructured.Unstructured) {
	w.t.Helper()
	w.until(kind, func() bool {
		u = w.get(kind)
		return ok(u)
	})
	return u
}

func (w *world) ready(status, message string) {
	w.t.Helper()
	w.until("Ready is "+status, func() bool {
		s := &Site{}
		w.must(runtime.DefaultUnstructuredConverter.FromUnstructured(w.get("Site").Object, s))
		c := meta.FindStatusCondition(s.Status.Conditions, "Ready")
		return c != nil && string(c.Status) == status && c.Message == message && c.ObservedGeneration == s.Generation
	})
}

func (w *world) title(want string) {
	w.t.Helper()
	w.eventually("ConfigMap", func(u *unstructured.Unstructured) bool {
		got, _, _ := unstructured.NestedString(u.Object, "data", "index.html")
		return got == want
	})
}

func (w *world) patch(u *unstructured.Unstructured, merge string) {
	w.t.Helper()
	w.must(w.Patch(w.t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(merge))))
}

// finish does what a Deployment's controller would.
func (w *world) finish(u *unstructured.Unstructured) {
	w.t.Helper()
	merge := `{"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,` +
		`"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}}`
	w.must(w.Status().Patch(w.t.Context(), u, client.RawPatch(types.MergePatchType, []byte(merge))))
}

// passes counts the finished passes of the operator, those of caches aside.
func (w *world) passes() (n float64) {
	w.t.Helper()
	families, err := metrics.Registry.Gather()
	w.must(err)
	for _, f := range families {
		if f.GetName() == "controller_runtime_reconcile_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// requests returns what the operator asked for, watches aside, and writes of a
// status that was read from the cache before it got there.
func (w *world) requests(a *testcluster.Audit, q testcluster.Query) (all []string) {
	w.t.Helper()
	q.Agent = agent
	for _, e := range a.Events(w.t, q) {
		if e.Verb == "watch" || e.Code == http.StatusConflict {
			continue
		}
		what := e.Verb + " " + e.Resource
		if e.Subresource != "" {
			what += "/" + e.Subresource
		}
		all = append(all, what)
	}
	return all
}

// wrote waits until the operator has recorded its writes, and compares them.
func (w *world) wrote(a *testcluster.Audit, want ...string) {
	w.t.Helper()
	var got []string
	writes := testcluster.Query{Writes: true}
	w.until("the writes are recorded", func() bool {
		got = w.requests(a, writes)
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		w.t.Errorf("writes %q, want %q", got, want)
	}
}
