package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// patience is how long a scrape waits for the list of generators, which is in
// memory.
const patience = time.Second

// scrape collects what is read anew each time. It has the series of generators,
// for it knows which generators there are.
type scrape struct{ *Metrics }

var _ prometheus.Collector = scrape{}

// Describe implements [prometheus.Collector].
func (s scrape) Describe(to chan<- *prometheus.Desc) {
	for _, name := range []string{
		passDuration, condition, suspended, artifacts, failing,
		downloads, downloaded, cacheHits, cacheEvictions, cacheSources, cacheBytes, reached,
		globalCondition, tenantCondition, targets, protected,
	} {
		to <- s.descs[name]
	}
}

// Collect implements [prometheus.Collector].
func (s scrape) Collect(to chan<- prometheus.Metric) {
	f := s.sources.Fetch()
	s.count(to, downloads, f.Downloads-f.Failures, "success")
	s.count(to, downloads, f.Failures, "failure")
	s.count(to, downloaded, f.Bytes)
	s.count(to, cacheHits, f.Hits)
	s.count(to, cacheEvictions, f.Evictions)
	s.gauge(to, cacheSources, float64(f.Kept))
	s.gauge(to, cacheBytes, float64(f.KeptBytes))
	s.mu.Lock()
	known := map[string]*bool{reached: s.reached, protected: s.protected}
	s.mu.Unlock()
	for name, is := range known {
		if is != nil {
			s.gauge(to, name, number(*is))
		}
	}

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.replications(ctx, to)
	began := time.Now()
	generators, err := s.sources.Generators(ctx)
	if err != nil {
		return
	}
	s.forget(generators, began)
	for i := range generators {
		s.generator(to, &generators[i])
	}
	s.passes.Collect(to)
}

// forget drops what is known of generators that are gone. Those that passed
// since the list was made may be too new for it.
func (s scrape) forget(generators []v1beta1.ArtifactGenerator, listed time.Time) {
	there := make(map[types.NamespacedName]bool, len(generators))
	for i := range generators {
		there[nameOf(&generators[i])] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, last := range s.timed {
		if !there[name] && last.Before(listed) {
			s.passes.DeleteLabelValues(kind, name.Name, name.Namespace)
			delete(s.timed, name)
			delete(s.failing, name)
		}
	}
}

// generator collects the series of one generator.
func (s scrape) generator(to chan<- prometheus.Metric, g *v1beta1.ArtifactGenerator) {
	is := metav1.ConditionUnknown
	if c := meta.FindStatusCondition(g.Status.Conditions, v1beta1.ConditionReady); c != nil {
		is = c.Status
	}
	for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
		s.gauge(to, condition, number(status == is), kind, g.Name, g.Namespace, v1beta1.ConditionReady, string(status))
	}
	s.gauge(to, suspended, number(g.IsDisabled()), kind, g.Name, g.Namespace)
	n := 0
	for _, e := range g.Status.Inventory {
		if e.IsArtifact() {
			n++
		}
	}
	s.gauge(to, artifacts, float64(n), g.Name, g.Namespace)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.failing[nameOf(g)]; ok {
		s.gauge(to, failing, float64(n), g.Name, g.Namespace)
	}
}

func (s scrape) count(to chan<- prometheus.Metric, name string, n int64, labels ...string) {
	to <- prometheus.MustNewConstMetric(s.descs[name], prometheus.CounterValue, float64(n), labels...)
}

func (s scrape) gauge(to chan<- prometheus.Metric, name string, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(s.descs[name], prometheus.GaugeValue, value, labels...)
}

func nameOf(g *v1beta1.ArtifactGenerator) types.NamespacedName {
	return types.NamespacedName{Namespace: g.Namespace, Name: g.Name}
}
