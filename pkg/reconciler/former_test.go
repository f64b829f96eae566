package reconciler_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// was is a program that a member comes from: it has other managers, also of
// the family, and puts the labels on under one of its own.
const was = "family/was/"

// inherited is what the former program left: fields x and y by two of its
// managers, and the labels.
func (b *bench) inherited(created bool, others ...string) {
	b.Helper()
	labels := map[string]any{"smoke.weir.dev/managed-by": "family", protect: "true"}
	if created {
		labels["smoke.weir.dev/created-by"] = "family"
	}
	for _, w := range []struct{ manager, key string }{{was + "0", "x"}, {was + "1", "y"}} {
		b.wrote(w.manager, map[string]any{"data": map[string]any{w.key: "1"}})
	}
	for _, manager := range others {
		b.wrote(manager, map[string]any{"data": map[string]any{"other": "1"}})
	}
	b.wrote("lifecycle", map[string]any{"metadata": map[string]any{"labels": labels}})
}

func (b *bench) wrote(manager string, what map[string]any) {
	b.Helper()
	u := &unstructured.Unstructured{Object: what}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	u.SetName("a")
	u.SetNamespace(b.namespace)
	if err := b.admin.Apply(b.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager)); err != nil {
		b.Fatal(err)
	}
}

// records puts into the inventory what the former program knew.
func (b *bench) records(it inventory.Item) {
	b.Helper()
	it.Key, it.Version = object.Key{Kind: "ConfigMap", Namespace: b.namespace, Name: "a"}, "v1"
	it.Manager = "family/" + b.owner
	_, err := b.store.Commit(b.Context(), b.owner, inventory.Change{Next: inventory.New("", []inventory.Item{it})})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) heir(objects ...reconciler.Object) reconciler.Request {
	q := b.request(objects...)
	q.Owner.Former = []policy.Manager{{Name: was, Prefix: true}}
	return q
}

func managers(u *unstructured.Unstructured) []string {
	var out []string
	for _, e := range u.GetManagedFields() {
		if e.Operation == metav1.ManagedFieldsOperationApply {
			out = append(out, e.Manager)
		}
	}
	slices.Sort(out)
	return out
}

// R66: what a former manager wrote is the owner's, whatever the policy says
// about adoption, and passes to the present one.
func TestFormerManagers(t *testing.T) {
	const peer = "family/peer"
	for name, c := range map[string]struct {
		item    *inventory.Item // nil: nothing was recorded
		created bool            // by the labels
		policy  policy.Policy
		others  []string
		left    string // of its data once the owner is gone; empty: it is deleted
	}{
		"created":                        {item: &inventory.Item{State: inventory.Applied, Created: true}, created: true},
		"created, by the record alone":   {item: &inventory.Item{State: inventory.Applied, Created: true}},
		"created, by the label alone":    {item: &inventory.Item{State: inventory.Applied}, created: true},
		"adopted":                        {item: &inventory.Item{State: inventory.Applied}, left: "map[user:1]"},
		"R67 adopted, under never":       {item: &inventory.Item{State: inventory.Applied}, policy: policy.Policy{Adoption: policy.AdoptNever}, left: "map[user:1]"},
		"not recorded, created":          {created: true},
		"not recorded, under never":      {policy: policy.Policy{Adoption: policy.AdoptNever}},
		"not recorded, may be adopted":   {left: "map[user:1]"},
		"orphaned":                       {created: true, policy: policy.Policy{Delete: policy.Orphan}, left: "map[user:1 x:2]"},
		"created and shared with others": {created: true, others: []string{peer}, left: "map[other:1 user:1]"},
	} {
		for _, applied := range []bool{true, false} {
			when := "applied"
			if !applied {
				when = "never applied"
				if c.item == nil {
					continue // nobody knows of it
				}
			}
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, reconciler.ReconcilerOptions{Sharing: family(), FieldOwner: "lifecycle"}).member("one")
				b.wrote("user", map[string]any{"data": map[string]any{"user": "1"}})
				b.inherited(c.created, c.others...)
				if c.item != nil {
					it := *c.item
					it.Policy = c.policy
					b.records(it)
				}
				if applied {
					b.inherits(b.part(configMap("a", "x", "2"), c.policy, nil), c.others)
				}
				res, err := b.rec.Delete(t.Context(), b.heir())
				if err != nil || !res.Done {
					t.Fatalf("error %v, outcomes %+v", err, res.Outcomes)
				}
				if c.left == "" {
					if u := b.get("a"); u != nil {
						t.Fatalf("it is still there: %v", u.Object)
					}
					return
				}
				u := b.data(c.left)
				if len(c.others) == 0 && len(u.GetLabels()) > 0 {
					t.Errorf("labels %v", u.GetLabels())
				}
			})
		}
	}
}

// inherits applies the object and checks that nothing is the former program's
// any more, but for what it wrote for others too.
func (b *bench) inherits(o reconciler.Object, others []string) {
	b.Helper()
	res, err := b.rec.Apply(b.Context(), b.heir(o))
	b.want(res, err, plan.Update)
	u := b.get("a")
	want := append([]string{"family/one", "user"}, others...)
	if len(others) > 0 {
		want = append(want, "lifecycle")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, managers(u)); diff != "" {
		b.Errorf("managers (-want +got):\n%s", diff)
	}
	data, _, _ := unstructured.NestedStringMap(u.Object, "data")
	if data["x"] != "2" || data["y"] != "" || data["user"] != "1" {
		b.Errorf("data %v: fields that the render omits are to go, and those of others to stay", data)
	}
	if len(u.GetLabels()) == 0 || len(others) == 0 && u.GetLabels()[protect] != "" {
		b.Errorf("labels %v", u.GetLabels())
	}
	for _, open := range []bool{true, false} {
		again := o
		again.Gate = &gate{open}
		res, err = b.rec.Apply(b.Context(), b.heir(again))
		b.want(res, err, map[bool]plan.Verb{true: plan.None, false: plan.Skip}[open])
	}
}

// While a gate is closed the former manager keeps what it has, and the item
// tells of the right incarnation.
func TestFormerManagersGate(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{Sharing: family(), FieldOwner: "lifecycle"}).member("one")
	b.inherited(true)
	b.records(inventory.Item{State: inventory.Applied, Created: true})
	o := b.part(configMap("a", "x", "2"), policy.Policy{}, map[string]string{protect: "true"})
	o.Gate = &gate{}
	res, err := b.rec.Apply(t.Context(), b.heir(o))
	b.want(res, err, plan.Skip)
	u := b.data("map[x:1 y:1]")
	if it := res.Inventory.Items[0]; it.UID != u.GetUID() || !it.Created {
		t.Errorf("item %+v", it)
	}
	res, err = b.rec.Delete(t.Context(), b.heir())
	b.want(res, err, plan.Delete)
}
