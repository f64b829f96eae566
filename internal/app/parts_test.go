package app

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fetch"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/metrics"
)

// told keeps events.
type told struct {
	about []client.Object
	all   []loop.Event
}

func (e *told) Record(about client.Object, ev loop.Event) {
	e.about, e.all = append(e.about, about), append(e.all, ev)
}

// That the advertised address leads elsewhere is told once, on the pod, and that
// it leads here again in the log.
func TestAddressIsToldWhenItChanges(t *testing.T) {
	o, logs, err := optioned(t)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	m, err := metrics.Register(registry, metrics.Sources{
		Fetch:      func() fetch.Stats { return fetch.Stats{} },
		Generators: func(context.Context) ([]v1beta1.ArtifactGenerator, error) { return nil, nil },
		Replications: func(context.Context) ([]v1beta2.GlobalTenantResource, []v1beta2.TenantResource, error) {
			return nil, nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	events := &told{}
	tell := (&parts{options: o, metrics: m, events: events}).tellReached()
	is := func(want string, n int) {
		t.Helper()
		text := "# HELP weir_storage_address_reached 1 if --storage-adv-addr led to the artifacts of this program when the one that leads tried it last, 0 if not.\n" +
			"# TYPE weir_storage_address_reached gauge\nweir_storage_address_reached " + want + "\n"
		if err := testutil.GatherAndCompare(registry, strings.NewReader(text), "weir_storage_address_reached"); err != nil {
			t.Error(err)
		}
		if len(events.all) != n {
			t.Errorf("%d events, want %d", len(events.all), n)
		}
	}
	tell(nil)
	is("1", 0)
	for range 3 {
		tell(errors.New("another program answers there"))
		is("0", 1)
	}
	if e := events.all[0]; !e.Warning || !strings.Contains(e.Message, "--storage-adv-addr") || !strings.HasSuffix(e.Message, "another program answers there") ||
		events.about[0].GetNamespace() != "weir-system" {
		t.Errorf("%+v about %s", e, client.ObjectKeyFromObject(events.about[0]))
	}
	tell(nil)
	is("1", 1)
	if !strings.Contains(logs.String(), "leads to the artifacts") {
		t.Errorf("the log is %s", logs)
	}
	tell(errors.New("gone"))
	is("0", 2)
}
