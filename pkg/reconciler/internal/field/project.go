// Package field compares and moves the fields of objects: what of a live object
// is ours, whether it still is as we wrote it, and whose the rest is. It is
// pure.
package field

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Owned returns a hash of what live says in the fields of body, and, when
// applied is set, of which fields the manager applied. Taken from the answer to
// a write it is the baseline of that write, defaults and mutations of the
// server included; taken later it tells a drift. Status is left out.
func Owned(body, live *unstructured.Unstructured, manager string, applied bool) string {
	shape := union(live.GetManagedFields())
	seen := map[string]any{}
	for k, v := range body.Object {
		if k != "status" && k != "apiVersion" && k != "kind" {
			seen[k] = project(v, live.Object[k], child(shape, k))
		}
	}
	s := object.Hash(seen)
	if applied {
		s += object.Hash(entryText(live.GetManagedFields(), manager))
	}
	return s
}

// Values returns the part of a hash of [Owned] that speaks of values.
func Values(owned string) string { return owned[:min(16, len(owned))] }

func entryText(entries []metav1.ManagedFieldsEntry, manager string) any {
	for i := range entries {
		if isApply(&entries[i], manager) && entries[i].FieldsV1 != nil {
			return entries[i].FieldsV1.GetRawString()
		}
	}
	return nil
}

func isApply(e *metav1.ManagedFieldsEntry, manager string) bool {
	return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// Applies reports whether the manager has an entry of its applied fields.
func Applies(live metav1.Object, manager string) bool {
	entries := live.GetManagedFields()
	for i := range entries {
		if isApply(&entries[i], manager) {
			return true
		}
	}
	return false
}

// union returns all fields that anybody manages. It tells how lists are keyed.
func union(entries []metav1.ManagedFieldsEntry) *fieldpath.Set {
	all := fieldpath.NewSet()
	for _, e := range entries {
		if s := parse(e); s != nil {
			all = all.Union(s)
		}
	}
	return all
}

func parse(e metav1.ManagedFieldsEntry) *fieldpath.Set {
	if e.FieldsV1 == nil {
		return nil
	}
	s := fieldpath.NewSet()
	if s.FromJSON(e.FieldsV1.GetRawReader()) != nil {
		return nil
	}
	return s
}

func child(s *fieldpath.Set, name string) *fieldpath.Set {
	if s == nil {
		return nil
	}
	return s.WithPrefix(fieldpath.PathElement{FieldName: &name})
}

// project returns the part of live that stands where body has values.
func project(body, live any, shape *fieldpath.Set) any {
	switch b := body.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return live
		}
		seen := make(map[string]any, len(b))
		for k, v := range b {
			if lv, ok := l[k]; ok {
				seen[k] = project(v, lv, child(shape, k))
			}
		}
		return seen
	case []any:
		if l, ok := live.([]any); ok {
			return projectList(b, l, shape)
		}
	}
	return live
}

// projectList returns the items of a keyed list, or whether the items of a set
// are there; a list that is neither belongs to one manager as a whole.
func projectList(body, live []any, shape *fieldpath.Set) any {
	keys, isSet := listShape(shape)
	if isSet {
		var seen []any
		for _, v := range body {
			seen = append(seen, contains(live, v))
		}
		return seen
	}
	if len(keys) == 0 {
		return live
	}
	used := make([]bool, len(live))
	seen := make([]any, 0, len(body))
	for _, b := range body {
		i := match(b, live, used, keys)
		if i < 0 {
			seen = append(seen, nil)
			continue
		}
		used[i] = true
		seen = append(seen, project(b, live[i], item(shape, live[i], keys)))
	}
	return seen
}

// listShape returns the names of the keys of a keyed list, or that the list is
// a set.
func listShape(shape *fieldpath.Set) (keys []string, isSet bool) {
	if shape == nil {
		return nil, false
	}
	look := func(pe fieldpath.PathElement) {
		if keys == nil && pe.Key != nil {
			for _, f := range *pe.Key {
				keys = append(keys, f.Name)
			}
		}
		isSet = isSet || pe.Value != nil
	}
	shape.Members.Iterate(look)
	shape.Children.Iterate(look)
	return keys, isSet
}

// match returns the index of the first unused live item that has the keys of
// b, as far as b names them; the server may have defaulted the others.
func match(b any, live []any, used []bool, keys []string) int {
	bm, ok := b.(map[string]any)
	if !ok {
		return -1
	}
	for i, l := range live {
		lm, ok := l.(map[string]any)
		if !ok || used[i] {
			continue
		}
		same := true
		for _, k := range keys {
			if v, ok := bm[k]; ok && !equal(v, lm[k]) {
				same = false
			}
		}
		if same {
			return i
		}
	}
	return -1
}

func item(shape *fieldpath.Set, live any, keys []string) *fieldpath.Set {
	lm, _ := live.(map[string]any)
	fields := make(value.FieldList, 0, len(keys))
	for _, k := range keys {
		fields = append(fields, value.Field{Name: k, Value: value.NewValueInterface(lm[k])})
	}
	fields.Sort()
	return shape.WithPrefix(fieldpath.PathElement{Key: &fields})
}

func contains(list []any, v any) bool {
	for _, l := range list {
		if equal(l, v) {
			return true
		}
	}
	return false
}

// Contains reports whether live already says all that body says. Values that
// the server writes in another form count as different.
func Contains(live, body any) bool {
	switch b := body.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range b {
			if !Contains(l[k], v) {
				return false
			}
		}
		return true
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) != len(b) {
			return false
		}
		for i := range b {
			if !Contains(l[i], b[i]) {
				return false
			}
		}
		return true
	}
	return equal(live, body)
}

func equal(a, b any) bool {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	switch a.(type) {
	case nil, string, bool:
		return a == b
	}
	return object.Hash(a) == object.Hash(b)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
