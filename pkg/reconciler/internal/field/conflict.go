package field

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Conflicts returns the fields that an apply of body by the manager would change
// and that others manage, as the server would name them, sorted. The fields of
// those that the manager reclaims are no conflict.
func Conflicts(body, live *unstructured.Unstructured, manager string, reclaimed []policy.Manager) []fault.Field {
	managers := map[string][]string{}
	for _, e := range live.GetManagedFields() {
		if e.Subresource != "" || e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply || selected(e, reclaimed) {
			continue
		}
		set := parse(e)
		if set == nil {
			continue
		}
		set.Iterate(func(p fieldpath.Path) {
			if changes(body.Object, live.Object, p) {
				managers[p.String()] = append(managers[p.String()], e.Manager)
			}
		})
	}
	out := make([]fault.Field, 0, len(managers))
	for _, path := range slices.Sorted(maps.Keys(managers)) {
		names := managers[path]
		slices.Sort(names)
		out = append(out, fault.Field{Path: path, Managers: slices.Compact(names)})
	}
	return out
}

// changes reports whether body says something else about a managed field than
// live. Of a mapping or a list whose parts are managed one by one, the parts say
// it.
func changes(body, live any, p fieldpath.Path) bool {
	want, ok := at(body, p)
	if !ok {
		return false
	}
	is, ok := at(live, p)
	if !ok {
		return true
	}
	if _, parts := want.(map[string]any); parts {
		if _, same := is.(map[string]any); same {
			return false
		}
	}
	if _, items := want.([]any); items && keyed(want) {
		return false
	}
	return !equal(want, is)
}

// keyed reports whether a list is one of mappings, whose items are managed one
// by one; a list of values belongs to one manager as a whole.
func keyed(list any) bool {
	return slices.ContainsFunc(list.([]any), func(v any) bool {
		_, ok := v.(map[string]any)
		return ok
	})
}

// at returns what stands at a path.
func at(v any, p fieldpath.Path) (any, bool) {
	for _, e := range p {
		var ok bool
		if v, ok = step(v, e); !ok {
			return nil, false
		}
	}
	return v, true
}

func step(v any, e fieldpath.PathElement) (any, bool) {
	if m, ok := v.(map[string]any); ok && e.FieldName != nil {
		next, ok := m[*e.FieldName]
		return next, ok
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	switch {
	case e.Key != nil:
		i := slices.IndexFunc(list, func(item any) bool { return has(item, e) })
		if i < 0 {
			return nil, false
		}
		return list[i], true
	case e.Value != nil:
		value := (*e.Value).Unstructured()
		return value, contains(list, value)
	case e.Index != nil && *e.Index < len(list):
		return list[*e.Index], true
	}
	return nil, false
}

// has reports whether an item has the keys of an element, as far as it names
// them; the server may have defaulted the others.
func has(item any, e fieldpath.PathElement) bool {
	m, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for _, f := range *e.Key {
		if v, ok := m[f.Name]; ok && !equal(v, f.Value.Unstructured()) {
			return false
		}
	}
	return true
}
