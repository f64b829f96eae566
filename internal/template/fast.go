package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Vars are the values of the placeholders of fast templates, by their keys.
type Vars map[string]string

// VarsOf returns the placeholders that there are: tenant.name and namespace.
// Without a namespace the latter is empty.
func VarsOf(tenant, namespace string) Vars {
	return Vars{"tenant.name": tenant, "namespace": namespace}
}

const opening, closing = "{{", "}}"

// Text replaces the placeholders {{key}} and {{ key }} of s. A key that is not
// known is replaced by nothing. What is not closed is no placeholder.
func (v Vars) Text(s string) string {
	if !strings.Contains(s, opening) {
		return s
	}
	var b strings.Builder
	for {
		before, rest, open := strings.Cut(s, opening)
		key, after, closed := strings.Cut(rest, closing)
		if !open || !closed {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(before)
		b.WriteString(v[strings.TrimSpace(key)])
		s = after
	}
}

// Strings returns a map with the placeholders of keys and values replaced, nil
// for an empty one. It fails when two keys become the same.
func (v Vars) Strings(m map[string]string) (map[string]string, error) {
	if len(m) == 0 {
		return nil, nil
	}
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		name := v.Text(k)
		if _, ok := out[name]; ok {
			return nil, fmt.Errorf("two keys become %q, one of them is %q", name, k)
		}
		out[name] = v.Text(m[k])
	}
	return out, nil
}

// Value returns JSON data with the placeholders of all its strings replaced,
// those of keys too. Nothing of the result is shared with the data. It fails
// when two keys of a mapping become the same.
func (v Vars) Value(data any) (any, error) {
	switch d := data.(type) {
	case string:
		return v.Text(d), nil
	case []any:
		out := make([]any, len(d))
		for i := range d {
			var err error
			if out[i], err = v.Value(d[i]); err != nil {
				return nil, fmt.Errorf("[%d]%w", i, err)
			}
		}
		return out, nil
	case map[string]any:
		return v.mapping(d)
	}
	return data, nil
}

func (v Vars) mapping(m map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		name := v.Text(k)
		if _, ok := out[name]; ok {
			return nil, fmt.Errorf(": two keys become %q, one of them is %q", name, k)
		}
		value, err := v.Value(m[k])
		if err != nil {
			return nil, fmt.Errorf(".%s%w", k, err)
		}
		out[name] = value
	}
	return out, nil
}
