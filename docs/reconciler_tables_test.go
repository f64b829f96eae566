package docs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

var (
	adoptions  = []policy.Adoption{policy.AdoptNever, policy.AdoptIfUnowned, policy.AdoptAlways}
	reconciles = []policy.Reconcile{policy.OnObjectChange, policy.OnObjectOrComponentChange, policy.Once}
	updates    = []policy.Update{policy.Replace, policy.Recreate, policy.SsaMerge, policy.SsaOverride}
	deletes    = []policy.Delete{policy.DeleteAlways, policy.Orphan, policy.OrphanOnApply, policy.OrphanOnDelete}
	missing    = []policy.MissingNamespaces{policy.Create, policy.DoNotCreate}
)

// facts are those of an object of ours that is as it should be.
func facts() plan.Facts {
	return plan.Facts{
		Key: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Version: "v1", Digest: "d1", Policy: defaults,
		Item: inventory.Item{State: inventory.Ready, UID: "u1", ResourceVersion: "7", Digest: "d1", Owned: "v1"},
		Live: &plan.Live{
			UID: "u1", ResourceVersion: "7", Owner: stamp.Owner{Ours: true, Intact: true, Name: "us", Digest: "d1"},
			Owned: "v1", Contains: true, Health: health.Current, Share: plan.Share{Ours: true, Marked: true},
		},
	}
}

func adoption(f *plan.Facts, a policy.Adoption)     { f.Policy.Adoption = a }
func updating(f *plan.Facts, u policy.Update)       { f.Policy.Update = u }
func deleting(f *plan.Facts, d policy.Delete)       { f.Policy.Delete = d }
func reconciling(f *plan.Facts, r policy.Reconcile) { f.Policy.Reconcile = r }

// What can be said of an object in several tables.
func steady(*plan.Facts)        {}
func absent(f *plan.Facts)      { f.Live = nil }
func untracked(f *plan.Facts)   { f.Item = inventory.Item{State: inventory.Intended} }
func nobodys(f *plan.Facts)     { untracked(f); f.Live.Owner = stamp.Owner{}; f.Live.Share = plan.Share{} }
func others(f *plan.Facts)      { untracked(f); f.Live.Owner = stamp.Owner{Name: "them"} }
func stripped(f *plan.Facts)    { f.Live.Owner = stamp.Owner{Lost: true}; f.Live.Owned = "v2" }
func drifted(f *plan.Facts)     { f.Live.Owned = "v2"; f.Live.Contains = false }
func changed(f *plan.Facts)     { f.Digest = "d2"; f.Live.Contains = false }
func going(f *plan.Facts)       { f.Live.Terminating = true }
func whole(f *plan.Facts)       { f.Whole = true }
func released(f *plan.Facts)    { f.Released = true }
func closed(f *plan.Facts)      { f.Gate = plan.Gate{Closed: true} }
func incarnation(f *plan.Facts) { f.Live.UID = "u2" }
func crd(f *plan.Facts) {
	f.Key = object.Key{Group: object.CRD.Group, Kind: object.CRD.Kind, Name: "a"}
}
func created(f *plan.Facts)                    { f.Item.Created, f.Live.Share.Created = true, true }
func peers(f *plan.Facts)                      { f.Live.Share.Peers = true }
func unshared(f *plan.Facts)                   { untracked(f); f.Live.Share = plan.Share{} }
func content(c plan.Content) func(*plan.Facts) { return func(f *plan.Facts) { f.Content = c } }

func all(sets ...func(*plan.Facts)) func(*plan.Facts) {
	return func(f *plan.Facts) {
		for _, set := range sets {
			set(f)
		}
	}
}

func adoptionTable(*testing.T) table {
	return decide(plan.Apply, "the object", adoptions, adoption, []state{
		{"is absent", all(untracked, absent)},
		{"has no owner", nobodys},
		{"is another owner's", others},
		{"is another owner's, who took it back from us", func(f *plan.Facts) { f.Item.Takeovers, f.Live.Owner = 1, stamp.Owner{Name: "them"} }},
		{"is ours and as wanted, but not in the inventory", untracked},
		{"is ours and not as wanted, and not in the inventory", all(untracked, drifted)},
		{"is ours, with the label taken off", stripped},
		{"is being deleted", all(nobodys, going)},
	})
}

// digests asks the code for the digest of an object, as it was and as it is
// when the manifest or the owner's digest has changed.
func digests(t *testing.T, r policy.Reconcile) (was, manifest, component string) {
	digest := func(value, component string) string {
		return planned(t, inMemory(), reconciler.ReconcilerOptions{}, reconciler.Request{
			Owner:   reconciler.Owner{ID: "us", Digest: component},
			Objects: []reconciler.Object{{Manifest: configMap(value), Policy: policy.Policy{Reconcile: r}}},
		}).Digest
	}
	return digest("1", "x"), digest("2", "x"), digest("1", "y")
}

func reconcileTable(t *testing.T) table {
	digested := func(pick func(was, manifest, component string) (old, now string)) func(*plan.Facts) {
		return func(f *plan.Facts) {
			f.Item.Digest, f.Digest = pick(digests(t, f.Policy.Reconcile))
			f.Live.Owner.Digest, f.Live.Contains = f.Item.Digest, f.Item.Digest == f.Digest
		}
	}
	return decide(plan.Apply, "since the last write", reconciles, reconciling, []state{
		{"nothing changed", digested(func(was, _, _ string) (string, string) { return was, was })},
		{"the manifest changed", digested(func(was, now, _ string) (string, string) { return was, now })},
		{"the owner's digest changed", digested(func(was, _, now string) (string, string) { return was, now })},
		{"the policy was another one", digested(func(was, _, _ string) (string, string) {
			for _, r := range reconciles {
				if other, _, _ := digests(t, r); other != was {
					return other, was
				}
			}
			return was, was
		})},
		{"others changed our fields", drifted},
		{"others manage our fields, with equal values", func(f *plan.Facts) {
			f.Item.Owned, f.Live.Owned = "0123456789abcdef:1", "0123456789abcdef:2"
		}},
		{"others changed fields that are not ours", steady},
		{"others took our label off", stripped},
		{"others deleted it", absent},
		{"others deleted it and created one that has no owner", all(incarnation, func(f *plan.Facts) { f.Live.Owner = stamp.Owner{} })},
		{"the reapply interval ended", func(f *plan.Facts) { f.Policy.Reapply, f.Now = time.Minute, time.Unix(1e9, 0) }},
		{"it became unready", func(f *plan.Facts) { f.Live.Health = health.InProgress }},
		{"it failed", func(f *plan.Facts) { f.Live.Health = health.Failed }},
		{"its deletion began", going},
	})
}

func updateTable(*testing.T) table {
	return decide(plan.Apply, "the object", updates, updating, []state{
		{"is absent", all(untracked, absent)},
		{"is ours, and the manifest changed", changed},
		{"is ours, and others changed our fields", drifted},
		{"is ours, and the label was taken off", stripped},
		{"is ours, and kubectl has fields in it", func(f *plan.Facts) { f.Live.Reclaimable = true }},
		{"has no owner", nobodys},
		{"is being deleted", all(changed, going)},
	})
}

func deleteTable(*testing.T) table {
	return decide(plan.Remove, "the object", deletes, deleting, []state{
		{"left the set", steady},
		{"goes with the whole set", whole},
		{"is in Request.Release", released},
		{"left the set, and is absent", absent},
		{"left the set, and is another owner's now", others},
		{"left the set, and the label was taken off", stripped},
		{"left the set, and was created anew with our stamp", incarnation},
		{"left the set, and is being deleted", going},
		{"is a container with something in it that is kept", content(plan.Content{Kept: true})},
		{"is a container of what goes with it", content(plan.Content{Pending: true})},
		{"is a container with objects of others in it", content(plan.Content{Count: 1, Name: "x"})},
		{"defines a kind, is being deleted and has our finalizer", all(crd, going, func(f *plan.Facts) { f.Live.Finalizer = true })},
		{"was purged, and created anew by others", all(others, func(f *plan.Facts) { f.Item.State = inventory.Purged })},
	})
}

func purgeTable(*testing.T) table {
	purging := func(s inventory.State) func(*plan.Facts) { return func(f *plan.Facts) { f.Item.State = s } }
	return decide(plan.Apply, "the object", []string{"action"}, func(*plan.Facts, string) {}, []state{
		{"is to be purged now", purging(inventory.Purging)},
		{"is being purged, and has finalizers", all(purging(inventory.Purging), going)},
		{"is being purged, and is another owner's now", all(purging(inventory.Purging), func(f *plan.Facts) { f.Live.Owner = stamp.Owner{Name: "them"} })},
		{"was purged", all(purging(inventory.Purged), absent)},
		{"was purged, and the manifest changed", all(purging(inventory.Purged), changed, absent)},
	})
}

func gatesTable(*testing.T) table {
	gates := []string{"gate closed", "gate fails"}
	return decide(plan.Apply, "the object", gates, func(f *plan.Facts, gate string) {
		closed(f)
		if gate == "gate fails" {
			f.Gate.Err = errors.New("no answer")
		}
	}, []state{
		{"is absent", all(untracked, absent)},
		{"has no owner, and may be adopted", nobodys},
		{"is another owner's", others},
		{"is ours, and a write is due", changed},
		{"is ours, and nothing is due", steady},
		{"is shared, and a mark has changed", func(f *plan.Facts) { f.Shared, f.Live.Share.Marked = true, false }},
		{"is being deleted", going},
	})
}

func directivesTable(*testing.T) table {
	rows := table{{"directive", "while it is in the set", "once it left the set"}}
	for _, d := range []struct {
		name string
		plan.Directive
	}{
		{"`SkipApply`", plan.Directive{SkipApply: true}}, {"`SkipDelete`", plan.Directive{SkipDelete: true}},
		{"`Keep`", plan.Directive{Keep: true}}, {"`HandOver`", plan.Directive{HandOver: true}},
		{"`Reject`", plan.Directive{Reject: true}}, {"`RejectDelete`", plan.Directive{RejectDelete: true}}, {"`Update: Recreate`", plan.Directive{Update: policy.Recreate}},
	} {
		f := facts()
		changed(&f)
		f.Live.Directive = d.Directive
		rows = append(rows, []string{d.name, cell(plan.Apply(f).Action), cell(plan.Remove(f).Action)})
	}
	return rows
}

func sharedTable(*testing.T) table {
	return decide(plan.Apply, "the object", adoptions, func(f *plan.Facts, a policy.Adoption) {
		f.Shared, f.Policy.Update, f.Policy.Adoption = true, policy.SsaMerge, a
	}, []state{
		{"is absent", all(untracked, absent)},
		{"was created by the family, and others of it remain", all(unshared, created, peers)},
		{"was created by the family, and nobody of it remains", all(unshared, created)},
		{"was not created by the family, others of it are on it", all(unshared, peers)},
		{"was not created by the family, nobody of it is on it", unshared},
		{"has our fields as they should be", steady},
		{"has our fields, and others changed them", drifted},
		{"has our fields, and lacks a mark", func(f *plan.Facts) { f.Live.Share.Marked = false }},
	})
}

func leavingTable(*testing.T) table {
	kept := []policy.Delete{policy.DeleteAlways, policy.Orphan}
	return decide(plan.Remove, "the object", kept, func(f *plan.Facts, d policy.Delete) {
		f.Shared, f.Policy.Delete = true, d
	}, []state{
		{"was created by the family, and we are the last", created},
		{"was created by the family, and others of it remain", all(created, peers)},
		{"was not created by the family", steady},
		{"has none of our fields any more", all(untracked, func(f *plan.Facts) { f.Live.Share = plan.Share{} })},
	})
}

func configMap(value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "a", "namespace": "shop"}, "data": map[string]any{"k": value},
	}}
}

// planned returns the action for the last object of a request.
func planned(t *testing.T, c client.Client, o reconciler.ReconcilerOptions, q reconciler.Request) plan.Action {
	t.Helper()
	q.Store = &inventory.Memory{}
	p, err := reconciler.NewReconciler("docs.weir.dev", c, o).Plan(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return p.Apply[len(p.Apply)-1]
}

// namespacesTable asks the reconciler, because it is the one who reads
// namespaces.
func namespacesTable(t *testing.T) table {
	shop := func() *corev1.Namespace { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}} }
	leaving := shop()
	leaving.DeletionTimestamp, leaving.Finalizers = new(metav1.Now()), []string{"kubernetes"}
	space := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"},
	}}
	rows := table{{"the namespace of an absent object"}}
	for _, m := range missing {
		rows[0] = append(rows[0], string(m))
	}
	for _, s := range []struct {
		name string
		have []client.Object
		set  []*unstructured.Unstructured
	}{
		{"exists", []client.Object{shop()}, nil},
		{"does not exist", nil, nil},
		{"does not exist, and is part of the set", nil, []*unstructured.Unstructured{space}},
		{"is being deleted", []client.Object{leaving}, nil},
	} {
		row := []string{s.name}
		for _, m := range missing {
			q := reconciler.Request{Owner: reconciler.Owner{ID: "us"}}
			for _, u := range append(s.set, configMap("1")) {
				q.Objects = append(q.Objects, reconciler.Object{Manifest: u})
			}
			row = append(row, cell(planned(t, inMemory(s.have...), reconciler.ReconcilerOptions{MissingNamespacesPolicy: &m}, q)))
		}
		rows = append(rows, row)
	}
	return rows
}

// policiesTable asks the reconciler for the defaults and the policies for the
// spellings.
func policiesTable(t *testing.T) table {
	store := &inventory.Memory{}
	rec := reconciler.NewReconciler("docs.weir.dev", inMemory(), reconciler.ReconcilerOptions{})
	res, err := rec.Apply(context.Background(), reconciler.Request{
		Owner: reconciler.Owner{ID: "us"}, Store: store, Objects: []reconciler.Object{{Manifest: configMap("1")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Outcomes[0].Reasons) != 2 { // NotFound, NamespaceMissing
		t.Errorf("missing namespaces are not created by default: %v", res.Outcomes[0].Reasons)
	}
	got := res.Inventory.Items[0].Policy
	if !got.Equal(&defaults) {
		t.Errorf("the defaults are %+v", got)
	}
	rows := table{{"policy", "option", "annotation", "values, as constants and in annotations", "default"}}
	add := func(name, option, annotation string, values []string, first string) {
		for i, v := range values {
			values[i] = "`" + v + "`"
			if annotation == "" {
				continue
			}
			kebab := spelling(t, annotation, v)
			values[i] += " `" + kebab + "`"
		}
		if annotation != "" {
			annotation = "`<name>/" + annotation + "`"
		} else {
			annotation = "none"
		}
		rows = append(rows, []string{name, option, annotation, strings.Join(values, ", "), "`" + first + "`"})
	}
	add("adoption", "`AdoptionPolicy`", policy.AdoptionAnnotation, texts(adoptions), string(got.Adoption))
	add("reconcile", "none", policy.ReconcileAnnotation, texts(reconciles), string(got.Reconcile))
	add("update", "`UpdatePolicy`", policy.UpdateAnnotation, texts(updates), string(got.Update))
	add("delete", "`DeletePolicy`", policy.DeleteAnnotation, texts(deletes), string(got.Delete))
	add("missing namespaces", "`MissingNamespacesPolicy`", "", texts(missing), string(policy.Create))
	return rows
}

// spelling returns a value in kebab case, once it has been read to mean the
// same as the value itself.
func spelling(t *testing.T, annotation, value string) string {
	var b strings.Builder
	for i, r := range value {
		if i > 0 && 'A' <= r && r <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	asked := func(s string) policy.Policy {
		p, err := policy.Read("x", map[string]string{"x/" + annotation: s})
		if err != nil {
			t.Error(err)
		}
		return p
	}
	kebab, camel := asked(b.String()), asked(value)
	if !kebab.Equal(&camel) || kebab.Equal(&policy.Policy{}) {
		t.Errorf("%q and %q are not the same", b.String(), value)
	}
	return b.String()
}

func texts[T ~string](values []T) (out []string) {
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}
