// Package replication_test tells stories of replications on a real API server,
// pass by pass, with an engine that may end at any request.
package replication_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/account"
	"github.com/weir-dev/weir/internal/controller/replication"
	"github.com/weir-dev/weir/internal/testcluster"
)

var shared testcluster.Shared

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(shared.Run(m))
}

// errEnded is what requests of a process get that has ended.
var errEnded = errors.New("the process has ended")

// process is one life of an engine. It ends at a write: before it is sent, or
// after and before the answer is known.
type process struct {
	writes atomic.Int64
	// last is the write at which it ends; negative: never.
	last  int64
	after bool
	dead  atomic.Bool
}

// connection is a process' connection to the API server.
type connection struct {
	*process
	next http.RoundTripper
}

func (c connection) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.dead.Load() {
		return nil, errEnded
	}
	if r.Method == http.MethodGet {
		return c.next.RoundTrip(r)
	}
	if n := c.writes.Add(1); n != c.last {
		return c.next.RoundTrip(r)
	}
	c.dead.Store(true)
	if c.after {
		if res, err := c.next.RoundTrip(r); err == nil {
			_ = res.Body.Close() // nobody reads the answer
		}
	}
	return nil, errEnded
}

// world is a tenant with a namespace, and a replication for it.
type world struct {
	*testing.T
	admin     client.Client
	config    *rest.Config
	namespace string // and the name of the tenant, its label and the replication
	bytes     int    // of a status that a record may take
	*process
	engine *replication.Engine
}

var installed sync.Once

func newWorld(t *testing.T, last int64, after bool) *world {
	t.Helper()
	cluster := shared.Cluster(t)
	installed.Do(func() {
		_, err := envtest.InstallCRDs(cluster.Admin(), envtest.CRDInstallOptions{Paths: []string{
			"../../config/crd/capsule.clastix.io_globaltenantresources.yaml", "../../config/crd/capsule.clastix.io_tenants.yaml",
		}})
		if err != nil {
			t.Fatal(err)
		}
	})
	w := &world{T: t, config: cluster.Admin(), namespace: cluster.Namespace(t)}
	w.admin = w.client(w.config)
	w.put(fmt.Sprintf("{apiVersion: capsule.clastix.io/v1beta2, kind: Tenant, metadata: {name: %s, labels: {set: %[1]s}}}", w.namespace))
	w.join(w.namespace, w.namespace)
	w.begin(last, after)
	return w
}

// join brings a namespace into a tenant.
func (w *world) join(namespace, tenant string) {
	w.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, v1beta2.LabelTenant, tenant)
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := w.admin.Patch(w.Context(), n, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

func (w *world) client(config *rest.Config) client.Client {
	w.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			w.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// begin starts a process that knows nothing.
func (w *world) begin(last int64, after bool) {
	w.Helper()
	w.process = &process{last: last, after: after}
	config := rest.CopyConfig(w.config)
	p := w.process
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return connection{p, next} })
	c := w.client(config)
	w.engine = replication.New(replication.Options{
		Client: c, Direct: c, Tenants: c, Accounts: &account.Clients{Config: config},
		Own: types.NamespacedName{Namespace: "weir-system", Name: "weir-controller"}, Parallel: 1,
		StatusBytes: w.bytes,
	})
}

// put applies an object as a user would.
func (w *world) put(text string) {
	w.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		w.Fatal(err)
	}
	u := unstructuredOf(o)
	err := w.admin.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("user"), client.ForceOwnership)
	if err != nil {
		w.Fatal(err)
	}
}

// want sets the blocks of the replication.
func (w *world) want(resources string) {
	w.Helper()
	w.put(fmt.Sprintf("{apiVersion: capsule.clastix.io/v1beta2, kind: GlobalTenantResource, metadata: {name: %s}, spec: {tenantSelector: {matchLabels: {set: %[1]s}}, resources: %s}}",
		w.namespace, resources))
}

// pass makes passes until the replication is ready, or gone if it is to go. A
// process that ended is followed by another.
func (w *world) pass() {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	for {
		_, err := w.engine.Global().Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Name: w.namespace}})
		if w.dead.Load() {
			w.begin(-1, false)
			continue
		}
		var g v1beta2.GlobalTenantResource
		switch gone := w.admin.Get(ctx, client.ObjectKey{Name: w.namespace}, &g); {
		case apierrors.IsNotFound(gone):
			return
		case gone != nil:
			w.Fatal(gone)
		}
		ready := meta.FindStatusCondition(g.Status.Conditions, v1beta2.ConditionReady)
		if ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == g.Generation && g.DeletionTimestamp == nil {
			return
		}
		if ctx.Err() != nil {
			w.Fatalf("not ready: %+v, the last pass: %v", ready, err)
		}
	}
}

// remove deletes the replication.
func (w *world) remove() {
	w.Helper()
	g := &v1beta2.GlobalTenantResource{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	if err := w.admin.Delete(w.Context(), g); err != nil {
		w.Fatal(err)
	}
}

// configMaps returns the ConfigMaps of the namespace by name: their data and
// labels.
func (w *world) configMaps() map[string]string {
	w.Helper()
	var list corev1.ConfigMapList
	if err := w.admin.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range list.Items {
		if c.Name != "kube-root-ca.crt" {
			out[c.Name] = fmt.Sprint(c.Data, c.Labels)
		}
	}
	return out
}
