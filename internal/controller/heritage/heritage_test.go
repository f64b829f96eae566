package heritage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/heritage"
	"github.com/weir-dev/weir/internal/protect/mark"
)

// The hashes are those of Capsule.
func TestManagers(t *testing.T) {
	for want, r := range map[string]mark.Replication{
		"3bzzrpaonu5zb": {Name: "replication"},
		"2elz2dfz41umt": {Namespace: "tenant-a", Name: "replication"},
		"2883zttmw7ldw": {Namespace: "tenant-b", Name: "replication"},
	} {
		got := heritage.Managers(r)
		if len(got) != 1 || !got[0].Matches(want+"/ns/tenant/0/raw-0/", "Apply") || got[0].Matches(want+"x/ns/tenant/0/raw-0/", "Apply") {
			t.Errorf("Managers(%v) = %v, want those that begin with %s/", r, got, want)
		}
	}
}

func TestInventory(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 8, 31, 10, 2, 13, 500, time.UTC))
	keep := &v1beta2.Reconciled{Creation: v1beta2.CreationMerge, Force: true, Deletion: v1beta2.DeletionOrphan}
	drop := &v1beta2.Reconciled{Creation: v1beta2.CreationOwner, Deletion: v1beta2.DeletionRemove}
	configMap := func(name string, s v1beta2.ItemStatus) v1beta2.ProcessedItem {
		return v1beta2.ProcessedItem{Version: "v1", Kind: "ConfigMap", Namespace: "solar-a", Name: name, Tenant: "solar", Origin: "0/raw-0", Status: s}
	}
	orphaning := &v1beta2.ReplicationSpec{PruningOnDelete: new(false), Settings: &v1beta2.Settings{Adopt: true, Force: true}}
	for name, c := range map[string]struct {
		spec     *v1beta2.ReplicationSpec
		recorded []v1beta2.ProcessedItem
		want     string
	}{
		"none": {recorded: nil, want: ""},
		"created": {
			recorded: []v1beta2.ProcessedItem{configMap("a", v1beta2.ItemStatus{Created: true, LastApply: &at, Policy: drop})},
			want:     "ConfigMap solar-a/a v1 Applied created=true 10:02:13 Never Delete Fail solar",
		},
		"adopted": {
			recorded: []v1beta2.ProcessedItem{configMap("a", v1beta2.ItemStatus{LastApply: &at, Policy: keep})},
			want:     "ConfigMap solar-a/a v1 Applied created=false 10:02:13 IfUnowned Orphan Force solar",
		},
		"created, and not applied since": {
			recorded: []v1beta2.ProcessedItem{configMap("a", v1beta2.ItemStatus{Created: true, Policy: drop})},
			want:     "ConfigMap solar-a/a v1 Applied created=true never Never Delete Fail solar",
		},
		"never applied": {
			recorded: []v1beta2.ProcessedItem{configMap("a", v1beta2.ItemStatus{Policy: drop})},
			want:     "",
		},
		"never applied, but others were": {
			recorded: []v1beta2.ProcessedItem{configMap("a", v1beta2.ItemStatus{Policy: drop}), configMap("b", v1beta2.ItemStatus{LastApply: &at})},
			want: "ConfigMap solar-a/a v1 Intended created=false never Never Delete Fail solar\n" +
				"ConfigMap solar-a/b v1 Applied created=false 10:02:13 Never Delete Fail solar",
		},
		"without a policy": {
			recorded: []v1beta2.ProcessedItem{configMap("a", v1beta2.ItemStatus{Created: true, LastApply: &at})},
			want:     "ConfigMap solar-a/a v1 Applied created=true 10:02:13 Never Delete Fail solar",
		},
		"by the deprecated fields": {
			spec:     orphaning,
			recorded: []v1beta2.ProcessedItem{configMap("a", v1beta2.ItemStatus{Created: true, LastApply: &at})},
			want:     "ConfigMap solar-a/a v1 Applied created=true 10:02:13 IfUnowned Orphan Force solar",
		},
		"cluster-scoped, with the namespace that it was rendered for": {
			recorded: []v1beta2.ProcessedItem{{Group: "g", Version: "v2", Kind: "Role", Namespace: "solar-a", Name: "a", Status: v1beta2.ItemStatus{ClusterScoped: true, Created: true}}},
			want:     "Role.g a v2 Applied created=true never Never Delete Fail ",
		},
		"one object from two places: in doubt it stays": {
			recorded: []v1beta2.ProcessedItem{
				configMap("a", v1beta2.ItemStatus{Created: true, LastApply: &at, Policy: keep}),
				configMap("a", v1beta2.ItemStatus{Policy: drop}),
			},
			want: "ConfigMap solar-a/a v1 Applied created=true 10:02:13 Never Orphan Fail solar",
		},
		"nothing that tells which object": {
			recorded: []v1beta2.ProcessedItem{{Kind: "ConfigMap", Name: "a"}, {Version: "v1", Name: "a"}, {Version: "v1", Kind: "ConfigMap"}},
			want:     "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := c.spec
			if spec == nil {
				spec = &v1beta2.ReplicationSpec{}
			}
			var got []string
			for _, it := range heritage.Inventory(mark.Replication{Name: "r"}, spec, c.recorded).Items {
				at := "never"
				if !it.At.IsZero() {
					at = it.At.UTC().Format(time.TimeOnly)
				}
				if it.UID != "" || !strings.HasPrefix(it.Manager, "projectcapsule.dev/resource/gtr/r/") {
					t.Errorf("UID %q, manager %q", it.UID, it.Manager)
				}
				p := it.Policy
				got = append(got, fmt.Sprintf("%s %s %s created=%t %s %s %s %s %s", it.Key, it.Version, it.State, it.Created, at,
					p.Adoption, p.Delete, p.Conflict, it.Payload["tenant"]))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
