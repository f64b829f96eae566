package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

const protect = "smoke.weir.dev/protected"

func family() *stamp.Shared {
	return &stamp.Shared{
		Peer:    func(m string) bool { return strings.HasPrefix(m, "family/") },
		Managed: map[string]string{"smoke.weir.dev/managed-by": "family"},
		Created: map[string]string{"smoke.weir.dev/created-by": "family"},
		Marks:   []string{protect},
	}
}

// member returns another owner of the family in the same namespace.
func (b *bench) member(owner string) *bench {
	m := *b
	m.owner, m.store = owner, &inventory.Memory{}
	return &m
}

// part is what a member wants of the object a.
func (b *bench) part(text string, p policy.Policy, marks map[string]string) reconciler.Object {
	o := objects(b, text)[0]
	o.Manager, o.Policy, o.Marks = "family/"+b.owner, p, marks
	return o
}

func (b *bench) data(want string) *unstructured.Unstructured {
	b.Helper()
	u := b.get("a")
	if u == nil {
		b.Fatal("the object is gone")
	}
	if got := fmt.Sprint(u.Object["data"]); got != want {
		b.Fatalf("data is %s, want %s", got, want)
	}
	return u
}

func TestSharedCreated(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{Sharing: family(), FieldOwner: "lifecycle"})
	one, two := b.member("one"), b.member("two")
	never := policy.Policy{Adoption: policy.AdoptNever}
	p1 := one.part(configMap("a", "x", "1"), never, map[string]string{protect: "true"})
	res, err := one.apply(p1)
	one.want(res, err, plan.Create)
	p2 := two.part(configMap("a", "w", "2"), never, nil)
	res, err = two.apply(p2)
	two.want(res, err, plan.Adopt)
	u := one.data("map[w:2 x:1]")
	if l := u.GetLabels(); l["smoke.weir.dev/created-by"] == "" || l[protect] != "true" {
		t.Fatalf("labels are %v", l)
	}
	for _, m := range []*bench{one, two} {
		p := p1
		if m == two {
			p = p2
		}
		res, err = m.apply(p)
		m.want(res, err, plan.None)
	}
	// A conflict over a field, which is not forced.
	p2.Manifest = objects(t, configMap("a", "x", "9", "w", "2"))[0].Manifest
	p2.Policy.Conflict = policy.Fail
	_, err = two.apply(p2)
	conflict, ok := errors.AsType[*fault.FieldConflict](err)
	if !ok || len(conflict.Fields) != 1 || conflict.Fields[0].Path != ".data.x" || fmt.Sprint(conflict.Fields[0].Managers) != "[family/one]" {
		t.Fatalf("conflict: %v", err)
	}
	// The first leaves: its fields and its mark go, the object stays.
	res, err = one.rec.Delete(t.Context(), one.request())
	one.want(res, err, plan.Leave)
	u = one.data("map[w:2]")
	if l := u.GetLabels(); l["smoke.weir.dev/created-by"] == "" || l[protect] != "" {
		t.Fatalf("labels are %v", l)
	}
	// The last one deletes what the family created.
	res, err = two.rec.Delete(t.Context(), two.request())
	two.want(res, err, plan.Delete)
	if b.get("a") != nil || !res.Done {
		t.Fatal("the object is still there")
	}
}

func TestSharedAdopted(t *testing.T) {
	for _, d := range []policy.Delete{policy.DeleteAlways, policy.Orphan} {
		t.Run(string(d), func(t *testing.T) {
			b := newBench(t, reconciler.ReconcilerOptions{Sharing: family(), FieldOwner: "lifecycle"})
			foreign := objects(t, configMap("a", "z", "0"))[0].Manifest
			foreign.SetNamespace(b.namespace)
			if err := b.admin.Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			one, two := b.member("one"), b.member("two")
			_, err := one.apply(one.part(configMap("a", "x", "1"), policy.Policy{Adoption: policy.AdoptNever}, nil))
			if _, ok := errors.AsType[*fault.OwnerConflict](err); !ok {
				t.Fatalf("never: %v", err)
			}
			if u := b.data("map[z:0]"); u.GetResourceVersion() != foreign.GetResourceVersion() {
				t.Fatal("the object was written")
			}
			for _, m := range []*bench{one, two} {
				res, err := m.apply(m.part(configMap("a", "k"+m.owner, "1"), policy.Policy{Delete: d}, map[string]string{protect: "true"}))
				m.want(res, err, plan.Adopt)
			}
			res, err := one.rec.Delete(t.Context(), one.request())
			if err != nil || !res.Done {
				t.Fatal(err)
			}
			left := "map[ktwo:1 z:0]"
			if d == policy.Orphan {
				left = "map[kone:1 ktwo:1 z:0]"
			}
			u := b.data(left)
			if l := u.GetLabels(); l["smoke.weir.dev/managed-by"] == "" || l["smoke.weir.dev/created-by"] != "" || l[protect] == "" {
				t.Fatalf("labels are %v", l)
			}
			res, err = two.rec.Delete(t.Context(), two.request())
			if err != nil || !res.Done {
				t.Fatal(err)
			}
			left = "map[z:0]"
			if d == policy.Orphan {
				left = "map[kone:1 ktwo:1 z:0]"
			}
			if u := b.data(left); len(u.GetLabels()) > 0 {
				t.Fatalf("labels are %v", u.GetLabels())
			}
		})
	}
}

// A plan names the conflicts that the server would name, and executing it meets
// the same.
func TestForeseenConflict(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{Sharing: family(), FieldOwner: "lifecycle", Conflict: policy.Fail})
	foreign := objects(t, configMap("a", "z", "0"))[0].Manifest
	foreign.SetNamespace(b.namespace)
	if err := b.admin.Create(t.Context(), foreign, client.FieldOwner("helm")); err != nil {
		t.Fatal(err)
	}
	one := b.member("one")
	for value, conflicts := range map[string]bool{"0": false, "1": true} {
		q := one.request(one.part(configMap("a", "z", value), policy.Policy{}, nil))
		p, err := one.rec.Plan(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if a := p.Apply[0]; (a.Verb == plan.Refuse) != conflicts || conflicts && !strings.Contains(a.Message, ".data.z of helm") {
			t.Fatalf("z: %s is planned as %+v", value, a)
		}
		if !conflicts {
			continue
		}
		_, planned := one.rec.Execute(t.Context(), p, q)
		_, err = one.rec.Apply(t.Context(), q)
		if planned == nil || err == nil || planned.Error() != err.Error() || err.Error() != p.Apply[0].Message {
			t.Fatalf("planned %q, executed %v, applied %v", p.Apply[0].Message, planned, err)
		}
	}
	if u := b.data("map[z:0]"); len(u.GetLabels()) > 0 {
		t.Fatal("the object was written")
	}
}

type gate struct{ open bool }

func (g *gate) Open(context.Context, *unstructured.Unstructured, time.Time) (bool, string, error) {
	return g.open, "a test", nil
}

func TestSharedGate(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{Sharing: family(), FieldOwner: "lifecycle"})
	one := b.member("one")
	g := &gate{open: true}
	part := func(text string, marks map[string]string) reconciler.Object {
		o := one.part(text, policy.Policy{}, marks)
		o.Gate = g
		return o
	}
	on := map[string]string{protect: "true"}
	res, err := one.apply(part(configMap("a", "x", "1"), on))
	one.want(res, err, plan.Create)
	g.open = false
	res, err = one.apply(part(configMap("a", "x", "2"), on))
	one.want(res, err, plan.Skip)
	if !res.Done {
		t.Fatal("a closed gate keeps the pass from being done")
	}
	res, err = one.apply(part(configMap("a", "x", "2"), nil))
	one.want(res, err, plan.Restamp)
	if u := b.data("map[x:1]"); u.GetLabels()[protect] != "" {
		t.Fatal("the mark is still there")
	}
	rv := b.data("map[x:1]").GetResourceVersion()
	res, err = one.apply(part(configMap("a", "x", "2"), nil))
	one.want(res, err, plan.Skip)
	res, err = one.apply(part(configMap("a", "x", "2"), on))
	one.want(res, err, plan.Restamp)
	if u := b.data("map[x:1]"); u.GetLabels()[protect] == "" || u.GetResourceVersion() == rv {
		t.Fatal("the mark is not back")
	}
	g.open = true
	res, err = one.apply(part(configMap("a", "x", "2"), nil))
	one.want(res, err, plan.Update)
	if u := b.data("map[x:2]"); u.GetLabels()[protect] != "" {
		t.Fatalf("the mark is still there: %v", u.GetManagedFields())
	}
	res, err = one.apply(part(configMap("a", "x", "2"), nil))
	one.want(res, err, plan.None)
	g.open = false
	res, err = one.rec.Delete(t.Context(), one.request())
	one.want(res, err, plan.Delete)
}

// An object that somebody deleted and created again is not ours.
func TestSharedReplaced(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{Sharing: family()})
	one := b.member("one")
	res, err := one.apply(one.part(configMap("a", "x", "1"), policy.Policy{}, nil))
	one.want(res, err, plan.Create)
	if err := b.admin.Delete(t.Context(), b.get("a")); err != nil {
		t.Fatal(err)
	}
	again := objects(t, configMap("a", "u", "1"))[0].Manifest
	again.SetNamespace(b.namespace)
	if err := b.admin.Create(t.Context(), again, client.FieldOwner("user")); err != nil {
		t.Fatal(err)
	}
	res, err = one.rec.Delete(t.Context(), one.request())
	one.want(res, err, plan.Forget)
	b.data("map[u:1]")
}

// Tracking labels are set right whatever the policy says about conflicts, but
// for values that the family accepts.
func TestSharedLabels(t *testing.T) {
	const managed, created = "smoke.weir.dev/managed-by", "smoke.weir.dev/created-by"
	f := family()
	f.Accept = func(key, value string) bool { return key == managed && value == "ancestor" }
	b := newBench(t, reconciler.ReconcilerOptions{Sharing: f, FieldOwner: "lifecycle", Conflict: policy.Fail})
	one := b.member("one")
	part := one.part(configMap("a", "x", "1"), policy.Policy{}, map[string]string{protect: "true"})
	res, err := one.apply(part)
	one.want(res, err, plan.Create)
	u := b.data("map[x:1]")
	u.SetLabels(map[string]string{managed: "ancestor", created: "me", protect: "no", "mine": "1"})
	u.SetManagedFields(nil)
	if err := b.admin.Update(t.Context(), u, client.FieldOwner("user")); err != nil {
		t.Fatal(err)
	}
	res, err = one.apply(part)
	one.want(res, err, plan.Update)
	want := map[string]string{managed: "ancestor", created: "family", protect: "true", "mine": "1"}
	if diff := cmp.Diff(want, b.data("map[x:1]").GetLabels()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	res, err = one.apply(part)
	one.want(res, err, plan.None)
}

// Items are spared one by one: what a render that failed would have given is
// not known.
func TestSpare(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{})
	res, err := b.apply(objects(t, configMap("a")+"---\n"+configMap("b")+"---\n"+configMap("c"))...)
	b.want(res, err, plan.Create, plan.Create, plan.Create)
	q := b.request(objects(t, configMap("c"))...)
	q.Spare = func(it *inventory.Item) bool { return it.Name == "a" }
	res, err = b.rec.Apply(t.Context(), q)
	b.want(res, err, plan.None, plan.Delete)
	if b.get("a") == nil || b.get("b") != nil || len(res.Inventory.Items) != 2 || !res.Done {
		t.Fatalf("the inventory has %v", res.Inventory.Items)
	}
	res, err = b.rec.Delete(t.Context(), q)
	if err != nil || !res.Done || b.get("a") != nil {
		t.Fatalf("deleted: error %v", err)
	}
}

// What goes with its namespace is forgotten, and takes no right to read it.
func TestGone(t *testing.T) {
	gone := false
	b := newBench(t, reconciler.ReconcilerOptions{Gone: func(_ context.Context, k object.Key) (bool, error) { return gone && k.Name == "a", nil }})
	res, err := b.apply(append(objects(t, configMap("a", "x", "1")), objects(t, configMap("b", "x", "1"))...)...)
	b.want(res, err, plan.Create, plan.Create)
	gone = true
	b.counter.take()
	res, err = b.apply(objects(t, configMap("b", "x", "1"))...)
	b.want(res, err, plan.None, plan.Forget)
	if n := b.counter.take(); n["GET"] != 1 || n["DELETE"] != 0 || len(res.Inventory.Items) != 1 {
		t.Fatalf("requests %v, inventory %v", n, res.Inventory.Items)
	}
	if b.get("a") == nil {
		t.Fatal("what goes with its namespace was deleted")
	}
}

// race is a gate of objects that nobody else has been at, who are, the first
// time that it is asked.
type race struct {
	meddle func()
	asked  int
}

func (r *race) Open(_ context.Context, live *unstructured.Unstructured, _ time.Time) (bool, string, error) {
	if r.asked++; r.asked == 1 {
		r.meddle()
	}
	return live == nil || live.GetAnnotations()["by"] == "", "somebody was there", nil
}

// R112: what is written between the read and the apply is not overwritten; the
// gate is asked again about what is there by then.
func TestR112_SharedRace(t *testing.T) {
	theirs := map[string]string{"by": "them"}
	for _, absent := range []bool{true, false} {
		t.Run(fmt.Sprintf("absent %t", absent), func(t *testing.T) {
			b := newBench(t, reconciler.ReconcilerOptions{Sharing: family(), FieldOwner: "lifecycle"})
			one := b.member("one")
			part := func(x string, g reconciler.Gate) reconciler.Object {
				o := one.part(configMap("a", "x", x), policy.Policy{Adoption: policy.AdoptIfUnowned, Conflict: policy.Force}, nil)
				o.Gate = g
				return o
			}
			meddle := func() {
				u := objects(t, configMap("a", "x", "theirs"))[0].Manifest
				u.SetNamespace(b.namespace)
				u.SetAnnotations(theirs)
				do := b.admin.Create
				if !absent {
					do = func(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
						return b.admin.Update(ctx, o)
					}
				}
				if err := do(t.Context(), u); err != nil {
					t.Error(err)
				}
			}
			if !absent {
				res, err := one.apply(part("1", nil))
				one.want(res, err, plan.Create)
			}
			g := &race{meddle: meddle}
			_, _ = one.apply(part("2", g)) // fails, or asks again at once
			if u := b.data("map[x:theirs]"); u.GetAnnotations()["by"] != "them" {
				t.Fatalf("annotations are %v", u.GetAnnotations())
			}
			res, err := one.apply(part("2", g))
			one.want(res, err, plan.Skip)
			if b.data("map[x:theirs]"); g.asked < 2 {
				t.Fatalf("the gate was asked %d times", g.asked)
			}
		})
	}
}
