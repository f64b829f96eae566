package replication_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	edits = flag.Int("edits", 40, "how many random edits are made")
	seed  = flag.Uint64("seed", 0, "the seed of the edits; zero means any")
)

// place is where an object is.
type place struct{ namespace, name string }

// block is what a random block says.
type block struct {
	namespaces string // label ns; empty: all
	items      []string
}

// draft is a random spec, and the model of what it means.
type draft struct {
	scope  string
	half   string // label half of tenants; empty: all
	value  int
	blocks []block
}

// lands is a namespace of a tenant, with its labels.
type lands struct{ namespace, half, ns string }

func (d *draft) spec(set string) string {
	selector := "set: " + set
	if d.half != "" {
		selector += ", half: " + d.half
	}
	var blocks []string
	for _, b := range d.blocks {
		var items []string
		for _, name := range b.items {
			items = append(items, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}, data: {v: "%d"}}`, name, set, d.value))
		}
		where := ""
		if b.namespaces != "" {
			where = fmt.Sprintf("namespaceSelector: {matchLabels: {ns: %s}}, ", b.namespaces)
		}
		blocks = append(blocks, fmt.Sprintf("{%spolicy: {protect: false}, rawItems: [%s]}", where, strings.Join(items, ", ")))
	}
	return fmt.Sprintf("{apiVersion: capsule.clastix.io/v1beta2, kind: GlobalTenantResource, metadata: {name: %s}, spec: {scope: %s, tenantSelector: {matchLabels: {%s}}, resources: [%s]}}",
		set, d.scope, selector, strings.Join(blocks, ", "))
}

// wants is the model.
func (d *draft) wants(home string, all []lands) map[place]bool {
	out := map[place]bool{}
	for _, b := range d.blocks {
		for _, l := range all {
			if d.scope != "None" && d.half != "" && d.half != l.half {
				continue
			}
			at := home
			if d.scope == "Namespace" {
				if at = l.namespace; b.namespaces != "" && b.namespaces != l.ns {
					continue
				}
			}
			for _, name := range b.items {
				out[place{at, name}] = true
			}
		}
	}
	return out
}

// edit changes the draft at random.
func (d *draft) edit(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	switch what := r.IntN(7); what {
	case 0:
		d.scope = pick("Namespace", "Namespace", "Tenant", "None")
		return "scope"
	case 1:
		d.half = pick("", "one", "two")
		return "tenants"
	case 2:
		b := &d.blocks[r.IntN(len(d.blocks))]
		b.namespaces = pick("", "", "a", "b")
		return "namespaces"
	case 3:
		r.Shuffle(len(d.blocks), func(i, j int) { d.blocks[i], d.blocks[j] = d.blocks[j], d.blocks[i] })
		return "order of blocks"
	case 4:
		b := &d.blocks[r.IntN(len(d.blocks))]
		r.Shuffle(len(b.items), func(i, j int) { b.items[i], b.items[j] = b.items[j], b.items[i] })
		return "order of items"
	case 5:
		from, to := &d.blocks[r.IntN(len(d.blocks))], &d.blocks[r.IntN(len(d.blocks))]
		name := pick("a", "b", "c", "d")
		if i := slices.Index(from.items, name); i >= 0 {
			from.items = slices.Delete(slices.Clone(from.items), i, i+1)
		}
		if !slices.Contains(to.items, name) && r.IntN(4) > 0 {
			to.items = append(slices.Clone(to.items), name)
		}
		return "items"
	default:
		d.value++
		return "content"
	}
}

// D13: whatever is edited, exactly what the model wants is there, and an object
// that was wanted before and is wanted after is the same object.
func TestRandomEdits(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("seed %d", *seed)
	w := newWorld(t, -1, false)
	all := []lands{{namespace: w.namespace}}
	cluster := shared.Cluster(t)
	const tenants = 20
	for i := range tenants {
		l := lands{cluster.Namespace(t), []string{"one", "two"}[i%2], []string{"a", "b"}[i/2%2]}
		w.put(fmt.Sprintf("{apiVersion: capsule.clastix.io/v1beta2, kind: Tenant, metadata: {name: %s, labels: {set: %s, half: %s}}}", l.namespace, w.namespace, l.half))
		w.join(l.namespace, l.namespace)
		n := &corev1.Namespace{}
		n.Name = l.namespace
		if err := w.admin.Patch(t.Context(), n, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"ns":"`+l.ns+`"}}}`))); err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	r := rand.New(rand.NewPCG(*seed, 0)) //nolint:gosec // no secret
	d := &draft{scope: "Namespace", blocks: []block{{items: []string{"a", "b"}}, {items: []string{"b", "c"}}, {}}}
	was := map[place]types.UID{}
	for n := range *edits {
		what := "the first"
		if n > 0 {
			what = d.edit(r)
		}
		w.put(d.spec(w.namespace))
		w.pass()
		is, want := w.uids(all), d.wants(w.namespace, all)
		got := map[place]bool{}
		for p, uid := range is {
			got[p] = true
			if before, ok := was[p]; ok && before != uid {
				t.Errorf("edit %d (%s): %v is another object now", n, what, p)
			}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(place{})); diff != "" {
			t.Fatalf("edit %d (%s), seed %d (-want +got):\n%s", n, what, *seed, diff)
		}
		was = is
	}
}

// uids returns the objects that replications created, in all namespaces.
func (w *world) uids(all []lands) map[place]types.UID {
	w.Helper()
	var list corev1.ConfigMapList
	if err := w.admin.List(w.Context(), &list, client.MatchingLabels{"projectcapsule.dev/created-by": "resources"}); err != nil {
		w.Fatal(err)
	}
	out := map[place]types.UID{}
	for _, c := range list.Items {
		if slices.ContainsFunc(all, func(l lands) bool { return l.namespace == c.Namespace }) {
			out[place{c.Namespace, c.Name}] = c.UID
		}
	}
	return out
}
