package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fetch"
	"github.com/weir-dev/weir/internal/metrics"
)

// world is metrics in a registry, with the generators that there are.
type world struct {
	*metrics.Metrics
	registry   *prometheus.Registry
	generators []v1beta1.ArtifactGenerator
	global     []v1beta2.GlobalTenantResource
	tenant     []v1beta2.TenantResource
	err        error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{registry: prometheus.NewPedanticRegistry()}
	var err error
	w.Metrics, err = metrics.Register(w.registry, metrics.Sources{
		Generators: func(context.Context) ([]v1beta1.ArtifactGenerator, error) { return w.generators, w.err },
		Replications: func(context.Context) ([]v1beta2.GlobalTenantResource, []v1beta2.TenantResource, error) {
			return w.global, w.tenant, w.err
		},
		Fetch: func() fetch.Stats {
			return fetch.Stats{Downloads: 5, Failures: 2, Bytes: 100, Hits: 7, Evictions: 1, Kept: 3, KeptBytes: 300}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// want compares the values of the metrics that lines are about; the comments
// that the format demands come from the table.
func (w *world) want(t *testing.T, lines string) {
	t.Helper()
	var names []string
	var text strings.Builder
	for _, m := range metrics.Table() {
		var own []string
		for _, line := range strings.Split(lines, "\n") {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, m.Name+"{") || strings.HasPrefix(line, m.Name+" ") {
				own = append(own, line)
			}
		}
		if len(own) > 0 {
			names = append(names, m.Name)
			fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %s %s\n%s\n", m.Name, m.Help, m.Name, m.Kind, strings.Join(own, "\n"))
		}
	}
	if err := testutil.GatherAndCompare(w.registry, strings.NewReader(text.String()), names...); err != nil {
		t.Error(err)
	}
}

func generator(name string, ready metav1.ConditionStatus) v1beta1.ArtifactGenerator {
	g := v1beta1.ArtifactGenerator{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}}
	if ready != "" {
		g.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: ready}}
	}
	g.Status.Inventory = []v1beta1.InventoryEntry{
		{Kind: v1beta1.InventoryArtifact, Namespace: "apps", Name: "x"}, {Kind: v1beta1.InventoryNamespace, Name: "apps"},
	}
	return g
}

func TestGenerators(t *testing.T) {
	w := newWorld(t)
	off := generator("off", metav1.ConditionFalse)
	off.Annotations = map[string]string{v1beta1.AnnotationReconcile: v1beta1.ValueDisabled}
	w.generators = []v1beta1.ArtifactGenerator{generator("on", metav1.ConditionTrue), off}
	for _, name := range []string{"on", "off"} {
		w.Built(types.NamespacedName{Namespace: "apps", Name: name}, 2, 90, 1)
		w.Pass(types.NamespacedName{Namespace: "apps", Name: name}, time.Second)
	}
	w.want(t, `
		gotk_reconcile_condition{kind="ArtifactGenerator",name="off",namespace="apps",status="False",type="Ready"} 1
		gotk_reconcile_condition{kind="ArtifactGenerator",name="off",namespace="apps",status="True",type="Ready"} 0
		gotk_reconcile_condition{kind="ArtifactGenerator",name="off",namespace="apps",status="Unknown",type="Ready"} 0
		gotk_reconcile_condition{kind="ArtifactGenerator",name="on",namespace="apps",status="False",type="Ready"} 0
		gotk_reconcile_condition{kind="ArtifactGenerator",name="on",namespace="apps",status="True",type="Ready"} 1
		gotk_reconcile_condition{kind="ArtifactGenerator",name="on",namespace="apps",status="Unknown",type="Ready"} 0
		gotk_suspend_status{kind="ArtifactGenerator",name="off",namespace="apps"} 1
		gotk_suspend_status{kind="ArtifactGenerator",name="on",namespace="apps"} 0
		weir_artifact_builds_total{outcome="failed"} 2
		weir_artifact_builds_total{outcome="published"} 4
		weir_artifact_builds_total{outcome="unchanged"} 180
		weir_generator_artifacts{name="off",namespace="apps"} 1
		weir_generator_artifacts{name="on",namespace="apps"} 1
		weir_generator_failing_artifacts{name="off",namespace="apps"} 1
		weir_generator_failing_artifacts{name="on",namespace="apps"} 1
	`)
	if n := w.series(t, "gotk_reconcile_duration_seconds"); n != 2 {
		t.Errorf("%d durations", n)
	}
}

// series returns how many series a metric has.
func (w *world) series(t *testing.T, name string) int {
	t.Helper()
	n, err := testutil.GatherAndCount(w.registry, name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Nothing of a generator outlives it, and nothing is said by those who do not
// know.
func TestSeriesGoWithTheirGenerators(t *testing.T) {
	w := newWorld(t)
	name := types.NamespacedName{Namespace: "apps", Name: "app"}
	w.Built(name, 1, 0, 1)
	w.Pass(name, time.Second)
	about := []string{
		"gotk_reconcile_duration_seconds", "gotk_reconcile_condition", "gotk_suspend_status", "weir_generator_artifacts", "weir_generator_failing_artifacts",
	}
	total := func() (n int) {
		for _, m := range about {
			n += w.series(t, m)
		}
		return n
	}
	w.err = errors.New("not the leader")
	if n := total(); n != 0 {
		t.Errorf("%d series of a replica that does not lead", n)
	}
	w.err, w.generators = nil, []v1beta1.ArtifactGenerator{generator("app", "")}
	if n := total(); n != 7 {
		t.Errorf("%d series of one generator", n)
	}
	w.generators = nil
	if n := total(); n != 0 {
		t.Errorf("%d series of a generator that is gone", n)
	}
	w.generators = []v1beta1.ArtifactGenerator{generator("app", "")} // another of the name
	if n := w.series(t, "gotk_reconcile_duration_seconds") + w.series(t, "weir_generator_failing_artifacts"); n != 0 {
		t.Errorf("%d series of a generator that had no pass yet", n)
	}
}

// What replications say is read at each scrape, so it goes with them (R131).
func TestR131_Replications(t *testing.T) {
	w := newWorld(t)
	g := v1beta2.GlobalTenantResource{ObjectMeta: metav1.ObjectMeta{Name: "quota"}}
	g.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionReady, Status: metav1.ConditionTrue}, {Type: v1beta2.ConditionCordoned, Status: metav1.ConditionFalse}}
	g.Status.Counts = &v1beta2.Counts{Ready: 2, Failed: 1, Skipped: 1, Leaving: 3}
	r := v1beta2.TenantResource{ObjectMeta: metav1.ObjectMeta{Namespace: "oil", Name: "keys"}}
	w.global, w.tenant = []v1beta2.GlobalTenantResource{g}, []v1beta2.TenantResource{r}
	w.Protected(true)
	w.want(t, `
		capsule_global_resource_condition{condition="Cordoned",name="quota"} 0
		capsule_global_resource_condition{condition="Ready",name="quota"} 1
		capsule_resource_condition{condition="Cordoned",name="keys",target_namespace="oil"} 0
		capsule_resource_condition{condition="Ready",name="keys",target_namespace="oil"} 0
		weir_protection_in_force 1
		weir_replication_targets{kind="GlobalTenantResource",name="quota",namespace="",state="failed"} 1
		weir_replication_targets{kind="GlobalTenantResource",name="quota",namespace="",state="leaving"} 3
		weir_replication_targets{kind="GlobalTenantResource",name="quota",namespace="",state="ready"} 2
		weir_replication_targets{kind="GlobalTenantResource",name="quota",namespace="",state="skipped"} 1
		weir_replication_targets{kind="TenantResource",name="keys",namespace="oil",state="failed"} 0
		weir_replication_targets{kind="TenantResource",name="keys",namespace="oil",state="leaving"} 0
		weir_replication_targets{kind="TenantResource",name="keys",namespace="oil",state="ready"} 0
		weir_replication_targets{kind="TenantResource",name="keys",namespace="oil",state="skipped"} 0
	`)
	w.global, w.tenant = nil, nil
	for _, name := range []string{"capsule_global_resource_condition", "capsule_resource_condition", "weir_replication_targets"} {
		if n := w.series(t, name); n != 0 {
			t.Errorf("%s: %d series of replications that are gone", name, n)
		}
	}
}

func TestTheRest(t *testing.T) {
	w := newWorld(t)
	w.Stored(4, 400)
	if n := w.series(t, "weir_storage_address_reached"); n != 0 {
		t.Error("an address was reached or not before it was tried")
	}
	w.Reached(true)
	w.Dropped("queue_full")
	w.Step("build", time.Millisecond, nil)
	h := w.Serving(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/no":
			http.Error(rw, "no", http.StatusNotFound) // three bytes
		case "/file":
			if _, err := io.Copy(rw, io.LimitReader(strings.NewReader("12345"), 4)); err != nil {
				t.Error(err)
			}
		case "/broken":
			panic(http.ErrAbortHandler)
		}
	}))
	srv := httptest.NewServer(h)
	defer srv.Close()
	for _, path := range []string{"/no", "/file", "/"} {
		res, err := http.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	// On a connection of its own, for else the client asks again.
	if res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(srv.URL + "/broken"); err == nil {
		_ = res.Body.Close()
		t.Error("a broken response looks whole")
	}
	w.want(t, `
		weir_artifact_requests_total{code="200"} 3
		weir_artifact_requests_total{code="404"} 1
		weir_artifact_served_bytes_total 7
		weir_events_dropped_total{reason="queue_full"} 1
		weir_source_cache_bytes 300
		weir_source_cache_evictions_total 1
		weir_source_cache_hits_total 7
		weir_source_cache_sources 3
		weir_source_downloaded_bytes_total 100
		weir_source_downloads_total{result="failure"} 2
		weir_source_downloads_total{result="success"} 3
		weir_storage_address_reached 1
		weir_storage_artifacts 4
		weir_storage_bytes 400
	`)
}

func TestRegisterTwice(t *testing.T) {
	w := newWorld(t)
	if _, err := metrics.Register(w.registry, metrics.Sources{}); err == nil {
		t.Error("metrics were registered twice")
	}
}
