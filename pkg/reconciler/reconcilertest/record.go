package reconcilertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// record is what a run did and left, in words that do not depend on the run.
type record struct {
	calls   int
	struck  string
	written map[string]int // writes by what they do and to which object
	state   map[string]string
}

// touched returns the objects that anybody wrote, with a version of each.
func (r *run) touched() map[object.Key]string {
	keys := map[object.Key]string{}
	add := func(calls []Call) {
		for _, c := range calls {
			if !c.Inner && c.Name != "" {
				keys[c.Key()] = c.Version
			}
		}
	}
	add(r.others.Calls(Writes))
	r.mu.Lock()
	all := slices.Clone(r.all)
	r.mu.Unlock()
	for _, p := range all {
		add(p.recorder.Calls(Writes))
	}
	return keys
}

func (r *run) record(ctx context.Context) *record {
	rec := &record{struck: r.struck, written: map[string]int{}, state: map[string]string{}}
	for _, p := range r.all {
		for _, c := range p.recorder.Calls(Writes) {
			what := "writes "
			if c.Verb == "delete" {
				what = "deletes "
			}
			if !c.Inner && c.Err == nil {
				rec.written[what+r.neutral(c.Key().String())]++
			}
		}
	}
	rec.calls = len(r.all[0].recorder.Calls())
	items := r.committed(ctx)
	for _, it := range items.Items {
		rec.state[r.neutral("item "+it.String())] = r.item(it)
	}
	for k, version := range r.touched() {
		u, err := r.get(ctx, k, version)
		if err != nil {
			r.problem("reading %s: %w", k, err)
		}
		if u != nil {
			it, _ := items.Find(k)
			rec.state[r.neutral("object "+k.String())] = r.object(u, it)
		}
	}
	return rec
}

// neutral takes out of a text what belongs to one run.
func (r *run) neutral(s string) string {
	return strings.NewReplacer(r.world.Name, "RUN", r.world.Namespace, "NAMESPACE", stamp.Hash(r.owner()), "OWNER").Replace(s)
}

// item leaves out what differs from incarnation to incarnation, and the
// digests, which object compares.
func (r *run) item(it inventory.Item) string {
	it.UID, it.ResourceVersion, it.At, it.Digest, it.Owned = "", "", metav1.Time{}, "", ""
	return r.text(it)
}

// object leaves out what differs from incarnation to incarnation. It checks
// that the item speaks of this object.
func (r *run) object(u *unstructured.Unstructured, it inventory.Item) string {
	if it.State.Written() && it.State != inventory.Leaving && it.State != inventory.Purged && r.ours(u) {
		if it.UID != u.GetUID() {
			r.problem("the inventory has %s with UID %q, which is %q", it.Key, it.UID, u.GetUID())
		}
		if d := r.stamp().Digest; r.Options.Sharing == nil && d != "" && u.GetAnnotations()[d] != it.Digest {
			r.problem("the inventory has %s with digest %q, which says %q", it.Key, it.Digest, u.GetAnnotations()[d])
		}
	}
	m := u.Object["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
		delete(m, field)
	}
	if d := r.stamp().Digest; d != "" && u.GetAnnotations()[d] != "" {
		unstructured.RemoveNestedField(m, "annotations", d)
	}
	fields := u.GetManagedFields()
	for i := range fields {
		fields[i].Time = nil
	}
	slices.SortFunc(fields, func(a, b metav1.ManagedFieldsEntry) int { return strings.Compare(a.String(), b.String()) })
	u.SetManagedFields(fields)
	return r.text(u.Object)
}

func (r *run) text(v any) string {
	b, err := json.MarshalIndent(v, "\t", "  ")
	if err != nil {
		r.problem("%w", err)
	}
	return r.neutral(string(b))
}

// spare is how many writes of one object a fault may cost.
const spare = 1

// compare returns an error that says how another run differs.
func (r *record) compare(o *record) error {
	var errs []error
	for _, what := range slices.Sorted(maps.Keys(o.written)) {
		switch most := r.written[what]; {
		case most == 0:
			errs = append(errs, fmt.Errorf("it %s, which the undisturbed run does not", what))
		case o.written[what] > most+spare:
			errs = append(errs, fmt.Errorf("it %s %d times, the undisturbed run %d times", what, o.written[what], most))
		}
	}
	all := maps.Clone(r.state)
	maps.Copy(all, o.state)
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if was, is := r.state[what], o.state[what]; was != is {
			errs = append(errs, fmt.Errorf("it ends with another %s:%s", what, diff(was, is)))
		}
	}
	return errors.Join(errs...)
}

// diff returns the lines that only one of two texts has.
func diff(was, is string) string {
	var b strings.Builder
	for _, side := range []struct{ sign, a, b string }{{"-", was, is}, {"+", is, was}} {
		have := strings.Split(side.b, "\n")
		for line := range strings.SplitSeq(side.a, "\n") {
			if line != "" && !slices.Contains(have, line) {
				fmt.Fprintf(&b, "\n\t%s%s", side.sign, line)
			}
		}
	}
	return b.String()
}

// clean removes what the run left, finalizers or not, and waits for nothing but
// the objects in its namespace.
func (r *run) clean(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for k, version := range r.touched() {
		errs = append(errs, r.remove(ctx, k, version))
	}
	if r.Store != nil {
		store := r.open(r.client)
		v, err := store.Load(ctx, r.owner())
		if err == nil {
			_, err = store.Commit(ctx, r.owner(), inventory.Change{Base: v, Next: inventory.Inventory{Version: v.Version}})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (r *run) remove(ctx context.Context, k object.Key, version string) error {
	u, err := r.get(ctx, k, version)
	if u == nil || err != nil {
		return err
	}
	if len(u.GetFinalizers()) > 0 {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := client.IgnoreNotFound(r.client.Patch(ctx, u, patch)); err != nil {
			return err
		}
	}
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	return client.IgnoreNotFound(r.client.Delete(ctx, u, background, client.GracePeriodSeconds(0)))
}

// noMatch reports whether the server does not know the kind.
func noMatch(err error) bool {
	var groups *discovery.ErrGroupDiscoveryFailed
	return meta.IsNoMatchError(err) || errors.As(err, &groups)
}
