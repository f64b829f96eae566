package replication_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/heritage"
	"github.com/weir-dev/weir/internal/protect/mark"
)

// lifecycle is the field manager of Capsule's tracking metadata.
const lifecycle = "projectcapsule.dev/resource/controller"

// legacy is a target as Capsule leaves it.
type legacy struct {
	name string
	// origins are where in the spec it came from, each with a field of its own.
	origins []string
	// marks are the labels, and owned says that the replication is an owner.
	marks []string
	owned bool
	// recorded is the item of the status; nil means that there is none.
	recorded *v1beta2.ItemStatus
	// by is the replication; empty means the world's.
	by string
}

// leave writes targets as Capsule does: fields under a manager for each origin,
// marks under its own, and then the items of the status.
func (w *world) leave(targets ...legacy) {
	w.Helper()
	var g v1beta2.GlobalTenantResource
	if err := w.admin.Get(w.Context(), client.ObjectKey{Name: w.namespace}, &g); err != nil {
		w.Fatal(err)
	}
	for _, t := range targets {
		name := g.Name
		if t.by != "" {
			name = t.by
		}
		for i, origin := range t.origins {
			w.wrote(heritage.Managers(mark.Replication{Name: name})[0].Name+w.namespace+"/"+w.namespace+"/"+origin+"/",
				t.name, map[string]any{"data": map[string]any{fmt.Sprintf("v%d", i): "0"}})
		}
		w.mark(&g, t)
		if t.recorded != nil {
			s := *t.recorded
			s.Type, s.Status = v1beta2.ConditionReady, metav1.ConditionTrue
			g.Status.ProcessedItems = append(g.Status.ProcessedItems, v1beta2.ProcessedItem{
				Tenant: w.namespace, Origin: "0/raw-0", Version: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: t.name, Status: s,
			})
		}
	}
	g.Status.Size = int64(len(g.Status.ProcessedItems))
	if err := w.admin.Status().Update(w.Context(), &g); err != nil {
		w.Fatal(err)
	}
}

// wrote applies fields of a ConfigMap as some manager.
func (w *world) wrote(manager, name string, what map[string]any) {
	w.Helper()
	u := &unstructured.Unstructured{Object: what}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	u.SetName(name)
	u.SetNamespace(w.namespace)
	if err := w.admin.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager)); err != nil {
		w.Fatal(err)
	}
}

// mark patches the tracking metadata of a target.
func (w *world) mark(g *v1beta2.GlobalTenantResource, t legacy) {
	w.Helper()
	if len(t.marks) == 0 && !t.owned {
		return
	}
	labels := map[string]string{}
	for _, l := range t.marks {
		labels[l] = "true"
		if l == v1beta2.LabelCreatedBy || l == v1beta2.LabelManagedBy {
			labels[l] = v1beta2.ValueReplications
		}
	}
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: t.name, Namespace: w.namespace}}
	was := c.DeepCopy()
	c.Labels = labels
	if t.owned {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: v1beta2.KindGlobalTenantResource, Name: g.Name, UID: g.UID}}
	}
	if err := w.admin.Patch(w.Context(), c, client.MergeFrom(was), client.FieldOwner(lifecycle)); err != nil {
		w.Fatal(err)
	}
}

// lines returns the ConfigMaps of the namespace by name: their data, tracking
// labels, whether the replication is an owner, and who applied fields.
func (w *world) lines() map[string]string {
	w.Helper()
	var list corev1.ConfigMapList
	if err := w.admin.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range list.Items {
		if c.Name == "kube-root-ca.crt" {
			continue
		}
		words := []string{fmt.Sprint(c.Data)}
		for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
			words = append(words, key[strings.LastIndex(key, "/")+1:])
		}
		if len(c.OwnerReferences) > 0 {
			words = append(words, "owned")
		}
		for _, m := range mark.Managers(c.Annotations, "ConfigMap/"+c.Namespace+"/"+c.Name) {
			words = append(words, "of "+strings.TrimPrefix(m.Name, w.namespace))
		}
		var managers []string
		for _, e := range c.ManagedFields {
			managers = append(managers, w.who(e.Manager))
		}
		slices.Sort(managers)
		out[c.Name] = strings.Join(append(words, managers...), " ")
	}
	return out
}

// who shortens the name of a field manager.
func (w *world) who(manager string) string {
	of := heritage.Managers(mark.Replication{Name: w.namespace})[0]
	switch {
	case of.Matches(manager, ""):
		return "CAPSULE"
	case manager == lifecycle:
		return "LIFECYCLE"
	case strings.HasPrefix(manager, "projectcapsule.dev/resource/gtr/"+w.namespace+"/"):
		return "weir"
	case strings.HasSuffix(manager, "-released"):
		return "released"
	case strings.Contains(manager, "/raw-"):
		return "peer"
	}
	return manager
}

var (
	lastApply = metav1.NewTime(time.Date(2026, 8, 31, 10, 2, 13, 0, time.UTC))
	removed   = &v1beta2.Reconciled{Creation: v1beta2.CreationOwner, Protect: true, Deletion: v1beta2.DeletionRemove}
	orphaned  = &v1beta2.Reconciled{Creation: v1beta2.CreationOwner, Protect: true, Deletion: v1beta2.DeletionOrphan}
	merged    = &v1beta2.Reconciled{Creation: v1beta2.CreationMerge, Protect: true, Deletion: v1beta2.DeletionRemove}
	full      = []string{v1beta2.LabelCreatedBy, v1beta2.LabelManagedBy, v1beta2.LabelProtected}
	one       = []string{"0/raw-0"}
	two       = []string{"0/raw-0", "1/generator-0-0"}
)

// heirloom is what Capsule leaves, and what becomes of it: in the first pass, and
// when the replication is deleted.
var heirloom = []struct {
	legacy
	user       bool // has a field of its own in it
	after, end string
}{
	{legacy{name: "created", origins: two, marks: full, owned: true, recorded: &v1beta2.ItemStatus{Created: true, LastApply: &lastApply, Policy: removed}}, false,
		"map[v0:1] created-by managed-by owned of  weir", ""},
	{legacy{name: "adopted", origins: one, marks: full[1:], recorded: &v1beta2.ItemStatus{LastApply: &lastApply, Policy: merged}}, true,
		"map[mine:1 v0:1] managed-by of  user weir", "map[mine:1] user"},
	{legacy{name: "label-lost", origins: one, recorded: &v1beta2.ItemStatus{Created: true, LastApply: &lastApply, Policy: removed}}, false,
		"map[v0:1] created-by managed-by owned of  LIFECYCLE weir", ""},
	{legacy{name: "r65", origins: nil, marks: []string{v1beta2.LabelResources}}, true,
		"map[mine:1 v0:1] created-by managed-by owned of  LIFECYCLE user weir", ""},
	{legacy{name: "r66", origins: one}, false,
		"map[v0:1] created-by managed-by owned of  LIFECYCLE weir", ""},
	{legacy{name: "orphan", origins: one, marks: full, owned: true, recorded: &v1beta2.ItemStatus{Created: true, LastApply: &lastApply, Policy: removed}}, false,
		"map[v0:1] created-by managed-by of  weir", "map[v0:1] released"},
	{legacy{name: "once", origins: one, marks: full[:2], owned: true, recorded: &v1beta2.ItemStatus{Created: true, LastApply: &lastApply, Policy: removed}}, false,
		"map[v0:0] created-by managed-by owned of  CAPSULE LIFECYCLE", ""},
	{legacy{name: "gone-created", origins: one, marks: full, owned: true, recorded: &v1beta2.ItemStatus{Created: true, LastApply: &lastApply, Policy: removed}}, false,
		"", ""},
	{legacy{name: "gone-adopted", origins: two, marks: full[1:], recorded: &v1beta2.ItemStatus{LastApply: &lastApply, Policy: merged}}, true,
		"map[mine:1] user", "map[mine:1] user"},
	{legacy{name: "gone-orphan", origins: two, marks: full, owned: true, recorded: &v1beta2.ItemStatus{Created: true, LastApply: &lastApply, Policy: orphaned}}, false,
		"map[v0:0 v1:0] released", "map[v0:0 v1:0] released"},
	{legacy{name: "gone-failed", origins: one, recorded: &v1beta2.ItemStatus{Policy: removed}}, false,
		"", ""},
	{legacy{name: "gone-legacy", origins: one, marks: full, recorded: &v1beta2.ItemStatus{Created: true, LastApply: &lastApply}}, false,
		"", ""},
	{legacy{name: "replaced", recorded: &v1beta2.ItemStatus{Created: true, LastApply: &lastApply, Policy: removed}}, true,
		"map[mine:1] user", "map[mine:1] user"},
}

// heirs are the blocks that the heirloom is for. What its name says is gone is in
// none.
const heirs = `[
	{policy: {protect: false, creation: Merge}, rawItems: [
		{apiVersion: v1, kind: ConfigMap, metadata: {name: adopted}, data: {v0: "1"}}]},
	{policy: {protect: false}, rawItems: [
		{apiVersion: v1, kind: ConfigMap, metadata: {name: created}, data: {v0: "1"}},
		{apiVersion: v1, kind: ConfigMap, metadata: {name: label-lost}, data: {v0: "1"}},
		{apiVersion: v1, kind: ConfigMap, metadata: {name: r65}, data: {v0: "1"}},
		{apiVersion: v1, kind: ConfigMap, metadata: {name: r66}, data: {v0: "1"}}]},
	{policy: {protect: false, deletion: Orphan}, rawItems: [
		{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan}, data: {v0: "1"}}]},
	{policy: {protect: false, condition: "object == null"}, rawItems: [
		{apiVersion: v1, kind: ConfigMap, metadata: {name: once}, data: {v0: "1"}}]}]`

// migrate leaves the heirloom to a replication, and returns the UIDs.
func (w *world) migrate() map[string]types.UID {
	w.Helper()
	w.want(heirs)
	var all []legacy
	for _, h := range heirloom {
		if h.user {
			w.wrote("user", h.name, map[string]any{"data": map[string]any{"mine": "1"}})
		}
		all = append(all, h.legacy)
	}
	w.leave(all...)
	return w.incarnations()
}

// incarnations returns the UIDs of the ConfigMaps of the namespace.
func (w *world) incarnations() map[string]types.UID {
	w.Helper()
	var list corev1.ConfigMapList
	if err := w.admin.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	out := map[string]types.UID{}
	for _, c := range list.Items {
		out[c.Name] = c.UID
	}
	return out
}

// R65, R66: a replication that Capsule kept goes on with what Capsule made.
func TestR66MigrateFromCapsule(t *testing.T) {
	w := newWorld(t, -1, false)
	before := w.migrate()
	w.pass()
	after, end := map[string]string{}, map[string]string{}
	for _, h := range heirloom {
		if h.after != "" {
			after[h.name] = h.after
		}
		if h.end != "" {
			end[h.name] = h.end
		}
	}
	if diff := cmp.Diff(after, w.lines()); diff != "" {
		t.Errorf("after the first pass (-want +got):\n%s", diff)
	}
	for name, uid := range w.incarnations() {
		if before[name] != uid {
			t.Errorf("%s is another object now", name)
		}
	}
	w.begin(-1, false)
	w.pass()
	if n := w.writes.Load(); n > 0 {
		t.Errorf("%d writes when nothing changed", n)
	}
	w.remove()
	w.pass()
	if diff := cmp.Diff(end, w.lines()); diff != "" {
		t.Errorf("after the end (-want +got):\n%s", diff)
	}
}
