// Package metrics is what the program tells Prometheus. It counts what it is
// told, reads at each scrape what others know anyway, and has one table of all
// of it. Series of objects go when the objects do; there are none of single
// artifacts, of which there may be thousands.
package metrics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fetch"
)

// kind is the kind of the objects that the metrics of passes are about.
const kind = "ArtifactGenerator"

// Sources are what is read at each scrape.
type Sources struct {
	// Generators returns the generators that there are. It fails, and the
	// series of generators are left out, as long as nobody knows; so it is with
	// replicas that do not lead, for each object counts once.
	Generators func(context.Context) ([]v1beta1.ArtifactGenerator, error)
	// Replications returns those that there are, and fails as Generators does.
	Replications func(context.Context) ([]v1beta2.GlobalTenantResource, []v1beta2.TenantResource, error)
	// Fetch returns the counts of the cache of sources.
	Fetch func() fetch.Stats
}

// Metrics are the metrics of one program. Concurrent use is safe, and no method
// blocks.
type Metrics struct {
	sources Sources
	descs   map[string]*prometheus.Desc

	passes, steps             *prometheus.HistogramVec
	builds, requests, dropped *prometheus.CounterVec
	served                    prometheus.Counter
	storeFiles, storeSize     prometheus.Gauge

	mu        sync.Mutex
	failing   map[types.NamespacedName]int       // guarded by mu
	timed     map[types.NamespacedName]time.Time // have a series in passes; guarded by mu
	reached   *bool                              // nil: nobody knows; guarded by mu
	protected *bool                              // nil: nobody knows; guarded by mu
}

// Register makes the metrics and adds them to a registry. It fails when they
// are there already.
func Register(to prometheus.Registerer, from Sources) (*Metrics, error) {
	m := &Metrics{
		sources: from, descs: map[string]*prometheus.Desc{},
		failing: map[types.NamespacedName]int{}, timed: map[types.NamespacedName]time.Time{},
	}
	t := table{}
	for _, line := range Table() {
		t[line.Name] = line
		m.descs[line.Name] = prometheus.NewDesc(line.Name, line.Help, line.Labels, nil)
	}
	m.passes, m.steps = t.histogram(passDuration), t.histogram(stepDuration)
	m.builds, m.requests, m.dropped = t.counter(builds), t.counter(requests), t.counter(dropped)
	m.served = t.counter(served).WithLabelValues()
	m.storeFiles, m.storeSize = t.gauge(storeArtifacts), t.gauge(storeBytes)
	for _, c := range []prometheus.Collector{m.steps, m.builds, m.requests, m.dropped, m.served, m.storeFiles, m.storeSize, scrape{m}} {
		if err := to.Register(c); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return m, nil
}

// Pass notes how long a pass over a generator took.
func (m *Metrics) Pass(generator types.NamespacedName, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timed[generator] = time.Now()
	m.passes.WithLabelValues(kind, generator.Name, generator.Namespace).Observe(took.Seconds())
}

// Built notes what became of the artifacts of a generator in one pass.
func (m *Metrics) Built(generator types.NamespacedName, published, unchanged, failed int) {
	m.builds.WithLabelValues("published").Add(float64(published))
	m.builds.WithLabelValues("unchanged").Add(float64(unchanged))
	m.builds.WithLabelValues("failed").Add(float64(failed))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing[generator] = failed
}

// Step notes how long a step took.
func (m *Metrics) Step(name string, took time.Duration, _ error) {
	m.steps.WithLabelValues(name).Observe(took.Seconds())
}

// Stored notes how many tarballs and bytes the storage has.
func (m *Metrics) Stored(tarballs int, bytes int64) {
	m.storeFiles.Set(float64(tarballs))
	m.storeSize.Set(float64(bytes))
}

// Reached notes whether the advertised address leads here.
func (m *Metrics) Reached(does bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reached = &does
}

// Dropped notes that an event did not reach --events-addr.
func (m *Metrics) Dropped(why string) { m.dropped.WithLabelValues(why).Inc() }

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// table makes the metrics of its lines. That a name has none is a bug.
type table map[string]Metric

func (t table) opts(name string) (prometheus.Opts, []string) {
	return prometheus.Opts{Name: t[name].Name, Help: t[name].Help}, t[name].Labels
}

func (t table) counter(name string) *prometheus.CounterVec {
	o, labels := t.opts(name)
	return prometheus.NewCounterVec(prometheus.CounterOpts(o), labels)
}

func (t table) gauge(name string) prometheus.Gauge {
	o, _ := t.opts(name)
	return prometheus.NewGauge(prometheus.GaugeOpts(o))
}

func (t table) histogram(name string) *prometheus.HistogramVec {
	o, labels := t.opts(name)
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: o.Name, Help: o.Help, Buckets: t[name].buckets}, labels)
}
