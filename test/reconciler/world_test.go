package reconciler_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/reconcilertest"
)

// name is that of the reconciler in all scripts.
const name = "test.weir.dev"

// world is the state of one script: a namespace, owners with their stores, and
// what the last passes did.
type world struct {
	t          testing.TB
	cluster    *testcluster.Cluster
	admin      client.Client // everybody else
	client     client.Client // the reconciler's
	identity   client.Client // of requests, or nil
	recorder   *reconcilertest.Recorder
	namespace  string
	options    reconciler.ReconcilerOptions
	reconciler *reconciler.Reconciler

	owner     string
	component string
	heir      string
	release   []object.Key
	stores    map[string]*inventory.Memory
	offset    time.Duration
	saved     map[object.Key]*unstructured.Unstructured

	mu       sync.Mutex
	meddlers []meddler
	observed []plan.Outcome
}

// meddler does something just before a call.
type meddler struct {
	prefix string
	do     func() error
}

// call is one command of a script.
type call struct {
	args []string
	neg  bool
	read func(string) string
	out  io.Writer
	told bool // the command has looked at neg
}

func newWorld(t testing.TB, cluster *testcluster.Cluster) (*world, error) {
	admin, err := client.New(cluster.Admin(), client.Options{})
	if err != nil {
		return nil, err
	}
	w := &world{
		t: t, cluster: cluster, admin: admin, owner: "alice", recorder: &reconcilertest.Recorder{},
		namespace: "test-" + strings.ToLower(rand.Text()[:8]),
		stores:    map[string]*inventory.Memory{}, saved: map[object.Key]*unstructured.Unstructured{},
	}
	own, err := client.New(cluster.Admin(), client.Options{})
	if err != nil {
		return nil, err
	}
	w.client = w.recorder.Client(own)
	w.recorder.Before = w.meddle
	w.renew()
	// The cluster ends with the tests; removing namespaces before would only
	// keep its controllers busy.
	return w, admin.Create(context.Background(), object.Key{Kind: "Namespace", Name: w.namespace}.Stub("v1"))
}

// renew starts a new process: a reconciler that remembers nothing.
func (w *world) renew() {
	w.options.Now = func() time.Time { return time.Now().Add(w.offset) }
	w.options.Observe = func(o plan.Outcome) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.observed = append(w.observed, o)
	}
	if w.options.Sharing != nil {
		w.options.FieldOwner = name + "/" + w.owner
	}
	w.reconciler = reconciler.NewReconciler(name, w.client, w.options)
}

func (w *world) meddle(_ context.Context, c reconcilertest.Call) error {
	w.mu.Lock()
	var now []meddler
	rest := w.meddlers[:0]
	for _, m := range w.meddlers {
		if strings.HasPrefix(w.neutral(c.String()), m.prefix) {
			now = append(now, m)
		} else {
			rest = append(rest, m)
		}
	}
	w.meddlers = rest
	w.mu.Unlock()
	for _, m := range now {
		if err := m.do(); err != nil {
			return fmt.Errorf("meddling: %w", err)
		}
	}
	return nil
}

func (w *world) neutral(s string) string { return strings.ReplaceAll(s, w.namespace, "NS") }

func (w *world) store() *inventory.Memory {
	if w.stores[w.owner] == nil {
		w.stores[w.owner] = &inventory.Memory{}
	}
	return w.stores[w.owner]
}

// request wants the manifests of the files.
func (w *world) request(c *call) (reconciler.Request, error) {
	q := reconciler.Request{
		Owner:     reconciler.Owner{ID: w.owner, Digest: w.component},
		Namespace: w.namespace,
		Store:     w.recorder.Store(w.store()),
		Release:   w.release,
		Client:    w.identity,
	}
	manifests, err := w.manifests(c, c.args)
	for _, m := range manifests {
		q.Objects = append(q.Objects, reconciler.Object{Manifest: m, Heir: w.heir})
	}
	return q, err
}

// manifests reads files. In them, $NS is the namespace.
func (w *world) manifests(c *call, files []string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, file := range files {
		text := strings.ReplaceAll(c.read(file), "$NS", w.namespace)
		for part := range strings.SplitSeq(text, "---\n") {
			data, err := yaml.ToJSON([]byte(part))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			u := &unstructured.Unstructured{}
			if err := json.Unmarshal(data, &u.Object); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if u.Object != nil {
				all = append(all, u)
			}
		}
	}
	return all, nil
}

// key returns the key of Kind.group [namespace/]name, and its version.
func (w *world) key(kind, name string) (object.Key, string, error) {
	gk := schema.ParseGroupKind(strings.ReplaceAll(kind, "$NS", w.namespace))
	k := object.Key{Group: gk.Group, Kind: gk.Kind, Name: strings.ReplaceAll(name, "NS", w.namespace)}
	m, err := w.admin.RESTMapper().RESTMapping(gk)
	if err != nil {
		return k, "", err
	}
	if m.Scope.Name() == "namespace" {
		k.Namespace = w.namespace
		if ns, name, ok := strings.Cut(k.Name, "/"); ok {
			k.Namespace, k.Name = ns, name
		}
	}
	return k, m.GroupVersionKind.Version, nil
}

func (w *world) get(kind, name string) (*unstructured.Unstructured, error) {
	k, version, err := w.key(kind, name)
	if err != nil {
		return nil, err
	}
	u := k.Stub(version)
	return u, w.admin.Get(context.Background(), client.ObjectKeyFromObject(u), u)
}
