package field

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Reclaim moves the fields of the selected managers, and those of our own that
// were not applied, into our applied entry, so that the next apply removes what
// it does not say. Entries of subresources stay. It returns false when there is
// nothing to move.
func Reclaim(entries []metav1.ManagedFieldsEntry, manager string, from []policy.Manager) ([]metav1.ManagedFieldsEntry, bool) {
	var kept []metav1.ManagedFieldsEntry
	var moved []metav1.ManagedFieldsEntry
	ours := -1
	for _, e := range entries {
		switch {
		case isApply(&e, manager):
			ours = len(kept)
			kept = append(kept, e)
		case e.Subresource == "" && (e.Manager == manager || selected(e, from)):
			moved = append(moved, e)
		default:
			kept = append(kept, e)
		}
	}
	if len(moved) == 0 {
		return entries, false
	}
	if ours < 0 {
		e := moved[0]
		e.Manager, e.Operation = manager, metav1.ManagedFieldsOperationApply
		kept, moved, ours = append(kept, e), moved[1:], len(kept)
	}
	for _, e := range moved {
		kept[ours].FieldsV1 = unite(kept[ours], e)
	}
	return kept, true
}

// Reclaimable reports whether one of the selected managers has fields.
func Reclaimable(entries []metav1.ManagedFieldsEntry, manager string, from []policy.Manager) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "" && e.Manager != manager && selected(e, from)
	})
}

func selected(e metav1.ManagedFieldsEntry, from []policy.Manager) bool {
	return slices.ContainsFunc(from, func(m policy.Manager) bool {
		return m.Matches(e.Manager, string(e.Operation))
	})
}

func unite(a, b metav1.ManagedFieldsEntry) *metav1.FieldsV1 {
	x, y := parse(a), parse(b)
	switch {
	case x == nil:
		return b.FieldsV1
	case y == nil:
		return a.FieldsV1
	}
	return encode(x.Union(y))
}

// encode returns a set as entries have it.
func encode(s *fieldpath.Set) *metav1.FieldsV1 {
	raw, err := s.ToJSON()
	if err != nil { // it was parsed before
		panic(err)
	}
	return metav1.NewFieldsV1(string(bytes.TrimSpace(raw)))
}

// Rename gives our applied entry another manager. It returns false when there
// is no such entry.
func Rename(entries []metav1.ManagedFieldsEntry, manager, to string) ([]metav1.ManagedFieldsEntry, bool) {
	i := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return isApply(&e, manager) })
	if i < 0 {
		return entries, false
	}
	out := slices.Clone(entries)
	out[i].Manager = to
	return out, true
}

// Managers returns who manages the field with that path, as the server writes
// paths, except for the manager itself.
func Managers(entries []metav1.ManagedFieldsEntry, path, except string) []string {
	var names []string
	for _, e := range entries {
		if e.Manager == except {
			continue
		}
		s := parse(e)
		if s == nil {
			continue
		}
		s.Iterate(func(p fieldpath.Path) {
			if p.String() == path {
				names = append(names, e.Manager)
			}
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}
