package leave_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/pkg/reconciler/internal/leave"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

func item(group, kind, namespace, name string, wave int) inventory.Item {
	it := inventory.Item{Key: object.Key{Group: group, Kind: kind, Namespace: namespace, Name: name}}
	it.Policy = policy.Policy{DeleteOrder: wave}
	if it.DefinesTypes() {
		it.Types = []policy.Type{{Group: "ex.org", Kind: "Foo"}}
	}
	return it
}

// R92: the order in which objects go, and what waits while something stays.
func TestR92Order(t *testing.T) {
	items := []inventory.Item{
		item("", "Namespace", "", "ns", 0), // holds late, so it goes no earlier
		item("", "ConfigMap", "ns", "late", 1),
		item("", "ConfigMap", "x", "cm", 0),
		item("apps", "Deployment", "x", "d", 0),
		item("ex.org", "Foo", "x", "foo", 0),
		item("apiextensions.k8s.io", "CustomResourceDefinition", "", "foos.ex.org", 0),
		item("", "ConfigMap", "x", "first", -1),
	}
	list := leave.Order(items, items[5].Types)
	var names []string
	for _, l := range list {
		names = append(names, l.Name)
	}
	want := "first foo foos.ex.org d cm late ns"
	if d := cmp.Diff(want, strings.Join(names, " ")); d != "" {
		t.Error(d)
	}
	stays := map[string]map[string]plan.Reason{ // what stays, and what waits for it
		"first": {"foo": plan.WaveNotReached, "d": plan.WaveNotReached, "ns": plan.WaveNotReached},
		"foo":   {"foos.ex.org": plan.DependencyPending, "cm": plan.DependencyPending, "late": plan.WaveNotReached},
		"d":     {"ns": plan.WaveNotReached},
		"":      {},
	}
	for stay, waits := range stays {
		var q leave.Queue
		for i := range list {
			l := &list[i]
			why := q.Enter(l)
			if want, ok := waits[l.Name]; ok && why != want || stay == "" && why != "" {
				t.Errorf("%s stays: %s waits for %q", stay, l.Name, why)
			}
			q.Pass(l, why == "" && l.Name != stay)
		}
		if q.Empty() != (stay == "") {
			t.Errorf("%s stays: empty is %v", stay, q.Empty())
		}
	}
}

func TestGroup(t *testing.T) {
	list := leave.Order([]inventory.Item{
		item("", "ConfigMap", "x", "a", 0), item("", "Secret", "x", "b", 0), item("", "Namespace", "", "x", 0),
	}, nil)
	if n := leave.Group(list); n != 2 {
		t.Errorf("%d go together", n)
	}
}
