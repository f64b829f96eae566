package field

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// notes is where kubectl writes down what it applied last.
var notes = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"))

// Bequeath moves the fields of the selected managers into entries of the heir,
// which applies nothing. Kubectl's notes, which nobody misses, stay where they
// are. It returns false when there is nothing to move.
func Bequeath(entries []metav1.ManagedFieldsEntry, heir string, from []policy.Manager) ([]metav1.ManagedFieldsEntry, bool) {
	var out []metav1.ManagedFieldsEntry
	moved := false
	for _, e := range entries {
		fields := parse(e)
		if e.Subresource != "" || fields == nil || e.Manager == heir || !selected(e, from) {
			out = append(out, e)
			continue
		}
		if left := fields.Intersection(notes); !left.Empty() {
			rest := e
			rest.FieldsV1 = encode(left)
			out = append(out, rest)
		}
		if will := fields.Difference(notes); !will.Empty() {
			e.Manager, e.Operation, e.FieldsV1 = heir, metav1.ManagedFieldsOperationUpdate, encode(will)
			out, moved = inherit(out, e), true
		}
	}
	if !moved {
		return entries, false
	}
	return out, true
}

// inherit adds an entry to the one that the heir has already, as a server takes
// only one of each kind.
func inherit(entries []metav1.ManagedFieldsEntry, e metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	i := slices.IndexFunc(entries, func(o metav1.ManagedFieldsEntry) bool {
		return o.Manager == e.Manager && o.Operation == e.Operation && o.APIVersion == e.APIVersion && o.Subresource == ""
	})
	if i < 0 {
		return append(entries, e)
	}
	entries[i].FieldsV1 = unite(entries[i], e)
	return entries
}
