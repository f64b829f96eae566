package reconciler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// What is new to the inventory is created without being read before, where no
// namespace has to be made. When it turns out to be there, it is read, and what
// happens is what happens to all that was read.
func TestNewIsNotRead(t *testing.T) {
	type calls = map[string]int
	for name, c := range map[string]struct {
		there  bool
		absent bool // the namespace
		policy policy.Policy
		gate   reconciler.Gate
		verb   plan.Verb
		calls  calls
	}{
		"absent":            {verb: plan.Create, calls: calls{"PATCH": 1}},
		"there, adopted":    {there: true, policy: policy.Policy{Adoption: policy.AdoptIfUnowned}, verb: plan.Adopt, calls: calls{"PATCH": 2, "GET": 1}},
		"there, not ours":   {there: true, policy: policy.Policy{Adoption: policy.AdoptNever}, verb: plan.Refuse, calls: calls{"PATCH": 1, "GET": 1}},
		"with a gate":       {gate: &gate{open: true}, verb: plan.Create, calls: calls{"GET": 2, "PATCH": 1}},
		"no such namespace": {absent: true, verb: plan.Refuse, calls: calls{"PATCH": 1, "GET": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, reconciler.ReconcilerOptions{
				Sharing: family(), FieldOwner: "lifecycle", MissingNamespacesPolicy: new(reconciler.MissingNamespacesPolicyDoNotCreate),
			})
			if c.there {
				foreign := objects(t, configMap("a", "x", "0"))[0].Manifest
				foreign.SetNamespace(b.namespace)
				if err := b.admin.Create(t.Context(), foreign, client.FieldOwner("foreign")); err != nil {
					t.Fatal(err)
				}
			}
			if c.absent {
				b.namespace += "-absent"
			}
			one := b.member("one")
			p := one.part(configMap("a", "x", "1"), c.policy, nil)
			p.Gate = c.gate
			res, err := one.apply(p)
			if res.Outcomes[0].Verb != c.verb {
				t.Errorf("outcome is %s, error %v; want %s", res.Outcomes[0].Verb, err, c.verb)
			}
			if diff := cmp.Diff(c.calls, b.counter.take()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Where much is there that is new to the inventory, a pass stops guessing.
func TestGuessingEnds(t *testing.T) {
	const namespaces, patience = 20, 4
	b := newBench(t, reconciler.ReconcilerOptions{
		Sharing: family(), FieldOwner: "lifecycle", MissingNamespacesPolicy: new(reconciler.MissingNamespacesPolicyDoNotCreate), Parallel: 1,
	})
	one := b.member("one")
	var all []reconciler.Object
	for range namespaces { // in a namespace each, or they would be listed
		p := one.part(configMap("a", "x", "1"), policy.Policy{}, nil)
		p.Manifest.SetNamespace(shared.Cluster(t).Namespace(t))
		if err := b.admin.Create(t.Context(), p.Manifest.DeepCopy(), client.FieldOwner("foreign")); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if _, err := one.apply(all...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"GET": namespaces, "PATCH": namespaces + patience}, b.counter.take()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
