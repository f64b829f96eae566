package testcluster

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Others have watches on the shared cluster, so this one is its own.
func TestRestartServer(t *testing.T) {
	if _, err := programs(); err != nil {
		shared.Cluster(t) // skips or fails
	}
	cluster, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	audit := cluster.Audit(t)
	namespace := cluster.Namespace(t)
	before := cluster.procs.Pids()
	if err := cluster.RestartServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := cluster.procs.Pids(); len(after) != len(before) || slices.Equal(after, before) {
		t.Error("it is not another process that runs")
	}
	if _, err := cluster.core.Namespaces().Get(t.Context(), namespace, metav1.GetOptions{}); err != nil {
		t.Errorf("what was stored is gone: %v", err)
	}
	// Controllers are at work whenever the server is killed, so some of these
	// requests have no answer.
	if n := len(audit.Events(t, Query{User: "weir:admin"})); n < 2 {
		t.Errorf("%d requests, want those of before and after", n)
	}
}

func TestKilledRequestsAreAnswered(t *testing.T) {
	d, err := newDirectory()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.remove() }()
	log := `{"auditID":"a","stage":"RequestReceived","verb":"create"}` + "\n" + killedRecord +
		`{"auditID":"b","stage":"RequestReceived","verb":"update"}` + "\n" +
		`{"auditID":"b","stage":"ResponseComplete","verb":"update","responseStatus":{"code":200}}` + "\n"
	if err := d.write(auditLog, []byte(log)); err != nil {
		t.Fatal(err)
	}
	a := Audit{path: d.path(auditLog)}
	events := a.Events(t, Query{})
	if len(events) != 2 || events[0].Verb != "create" || events[0].Code != 0 || events[1].Code != 200 {
		t.Errorf("events are %+v, want one without an answer and one with", events)
	}
}
