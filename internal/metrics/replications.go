package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// States of targets.
const (
	stateReady   = "ready"
	stateFailed  = "failed"
	stateLeaving = "leaving"
	stateSkipped = "skipped"
)

// Protected counts whether protected targets are kept from others.
func (m *Metrics) Protected(is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.protected = &is
}

// replications sends the series of all replications.
func (s scrape) replications(ctx context.Context, to chan<- prometheus.Metric) {
	global, tenant, err := s.sources.Replications(ctx)
	if err != nil {
		return
	}
	for i := range global {
		g := &global[i]
		for _, c := range conditions(&g.Status.ReplicationStatus) {
			s.gauge(to, globalCondition, number(c.Status == metav1.ConditionTrue), g.Name, c.Type)
		}
		s.targets(to, v1beta2.KindGlobalTenantResource, &g.ObjectMeta, &g.Status.ReplicationStatus)
	}
	for i := range tenant {
		t := &tenant[i]
		for _, c := range conditions(&t.Status.ReplicationStatus) {
			s.gauge(to, tenantCondition, number(c.Status == metav1.ConditionTrue), t.Name, t.Namespace, c.Type)
		}
		s.targets(to, v1beta2.KindTenantResource, &t.ObjectMeta, &t.Status.ReplicationStatus)
	}
}

// conditions are those of a replication that have a series.
func conditions(of *v1beta2.ReplicationStatus) []metav1.Condition {
	var out []metav1.Condition
	for _, kind := range []string{v1beta2.ConditionReady, v1beta2.ConditionCordoned} {
		c := metav1.Condition{Type: kind}
		if is := meta.FindStatusCondition(of.Conditions, kind); is != nil {
			c.Status = is.Status
		}
		out = append(out, c)
	}
	return out
}

// targets sends how many targets of a replication are in each state.
func (s scrape) targets(to chan<- prometheus.Metric, kind string, of *metav1.ObjectMeta, status *v1beta2.ReplicationStatus) {
	var n v1beta2.Counts
	if status.Counts != nil {
		n = *status.Counts
	}
	for state, count := range map[string]int64{stateReady: n.Ready, stateFailed: n.Failed, stateSkipped: n.Skipped, stateLeaving: n.Leaving} {
		s.gauge(to, targets, float64(count), kind, of.Name, of.Namespace, state)
	}
}
