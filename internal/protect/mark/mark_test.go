package mark_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/weir-dev/weir/internal/protect/mark"
)

const account = "system:serviceaccount:solar-system:default"

func TestRecord(t *testing.T) {
	configMap := mark.Target(schema.GroupKind{Kind: "ConfigMap"}, "solar-prod", "profile")
	for name, c := range map[string]struct {
		of     mark.Replication
		target string
		want   string
	}{
		"global": {
			mark.Replication{Name: "profile"}, configMap,
			"GlobalTenantResource/profile " + account + " ConfigMap/solar-prod/profile",
		},
		"of a tenant": {
			mark.Replication{Namespace: "solar-system", Name: "profile"}, configMap,
			"TenantResource/solar-system/profile " + account + " ConfigMap/solar-prod/profile",
		},
		"cluster-scoped": {
			mark.Replication{Name: "roles"},
			mark.Target(schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, "", "viewer"),
			"GlobalTenantResource/roles " + account + " ClusterRole.rbac.authorization.k8s.io//viewer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.of.Record(account, c.target)
			if got != c.want {
				t.Fatalf("Record() = %q, want %q", got, c.want)
			}
			annotations := map[string]string{c.of.Key(): got, "other": "1"}
			want := []mark.Manager{{Replication: c.of, Account: account}}
			if diff := cmp.Diff(want, mark.Managers(annotations, c.target)); diff != "" {
				t.Errorf("Managers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKey(t *testing.T) {
	long := strings.Repeat("n", 253)
	keys := map[string]mark.Replication{}
	for _, r := range []mark.Replication{
		{Name: "a"}, {Namespace: "a", Name: "a"}, {Namespace: "a", Name: "b"}, {Name: long}, {Namespace: strings.Repeat("s", 63), Name: long},
	} {
		key := r.Key()
		if errs := validation.IsQualifiedName(key); len(errs) > 0 {
			t.Errorf("key %q of %v: %v", key, r, errs)
		}
		if other, ok := keys[key]; ok {
			t.Errorf("%v and %v have the same key", r, other)
		}
		keys[key] = r
	}
	if got, want := (mark.Replication{Name: "a"}).Key(), "managers.weir.dev/idxo7hnvks6gxmm6md6murn2nq"; got != want {
		t.Errorf("the key has changed from %q to %q, and with it every target", want, got)
	}
}

// What is no record of the target counts for nothing.
func TestManagers(t *testing.T) {
	const target = "ConfigMap/a/b"
	r := mark.Replication{Name: "r"}
	for name, annotations := range map[string]map[string]string{
		"none":                        nil,
		"of another object":           {r.Key(): r.Record(account, "ConfigMap/a/c")},
		"of another kind":             {r.Key(): r.Record(account, "Secret/a/b")},
		"under another key":           {mark.Prefix + "x": r.Record(account, target)},
		"of another replication":      {r.Key(): mark.Replication{Name: "s"}.Record(account, target)},
		"without a target":            {r.Key(): "GlobalTenantResource/r " + account},
		"without a name":              {mark.Replication{}.Key(): "GlobalTenantResource/ " + account + " " + target},
		"of another kind of manager":  {r.Key(): "ConfigMap/r " + account + " " + target},
		"a global one in a namespace": {r.Key(): "GlobalTenantResource/a/r " + account + " " + target},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mark.Managers(annotations, target); got != nil {
				t.Errorf("Managers() = %v, want none", got)
			}
		})
	}
}

func TestStray(t *testing.T) {
	const left = mark.Prefix + "x"
	for name, c := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"managed by nobody":           {nil, []string{left}},
		"managed":                     {map[string]string{"projectcapsule.dev/managed-by": "resources"}, nil},
		"managed by Capsule":          {map[string]string{"projectcapsule.dev/created-by": "replications"}, nil},
		"made by Capsule for itself":  {map[string]string{"projectcapsule.dev/created-by": "controller"}, []string{left}},
		"protected":                   {map[string]string{"protection.projectcapsule.dev/replications": "true"}, nil},
		"labelled for another reason": {map[string]string{"capsule.clastix.io/tenant": "a"}, []string{left}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Labels: c.labels, Annotations: map[string]string{left: "y", "z": "1"}}
			if diff := cmp.Diff(c.want, mark.Stray(o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
