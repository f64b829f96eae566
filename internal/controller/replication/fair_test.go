package replication_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// hold keeps requests about objects with a name from their answers until it is
// let go.
type hold struct {
	name string
	free chan struct{}
}

// held is about the targets of TestLargeGiveWay.
var held = hold{name: "/fair-held-", free: make(chan struct{})}

func (h hold) wrap(next http.RoundTripper) http.RoundTripper {
	return trip(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, h.name) {
			select {
			case <-h.free:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return next.RoundTrip(r)
	})
}

type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// Large passes that do not come to an end, more of them than there are workers,
// do not keep a small one from its own. Each has its turn in the end.
func TestLargeGiveWay(t *testing.T) {
	const large, targets = 5, 500
	start(t, shared.Cluster(t))
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(shared.Cluster(t).Admin(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	namespace := shared.Cluster(t).Namespace(t)
	replicate := func(name, prefix string, n int) {
		g := &v1beta2.GlobalTenantResource{ObjectMeta: metav1.ObjectMeta{Name: name}}
		g.Spec.Scope = v1beta2.ScopeNone
		items := make([]v1beta2.RawItem, n)
		for i := range items {
			items[i].Raw = fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": %q, "name": "%s%s-%d"}}`, namespace, prefix, name, i)
		}
		g.Spec.Resources = []v1beta2.Block{{RawItems: items}}
		if err := c.Create(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	ready := func(name string) *metav1.Condition {
		var g v1beta2.GlobalTenantResource
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &g); err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(g.Status.Conditions, v1beta2.ConditionReady)
	}
	await := func(name string, is metav1.ConditionStatus) {
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			got := ready(name)
			if got != nil && got.Status == is {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s is not %s after a minute: %+v", name, is, got)
			}
		}
	}
	for i := range large {
		replicate(fmt.Sprintf("fair-large-%d", i), "fair-held-", targets)
	}
	for i := range large { // under way, or told to wait
		await(fmt.Sprintf("fair-large-%d", i), metav1.ConditionUnknown)
	}
	replicate("fair-small", "", 3)
	await("fair-small", metav1.ConditionTrue)
	close(held.free)
	for i := range large {
		await(fmt.Sprintf("fair-large-%d", i), metav1.ConditionTrue)
	}
}
