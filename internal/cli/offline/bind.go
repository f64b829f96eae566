package offline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/recipe"
)

// bindings are the paths that --source flags gave, by alias or by reference.
type bindings struct {
	paths map[string]string
	used  map[string]bool
}

// parseBindings parses --source flags. Few shells know the home directory's ~
// behind a sign, so that it is replaced here.
func parseBindings(flags []string, home string) (*bindings, error) {
	b := &bindings{paths: map[string]string{}, used: map[string]bool{}}
	for _, flag := range flags {
		key, path, ok := strings.Cut(flag, "=")
		if !ok || key == "" || path == "" {
			return nil, fmt.Errorf("--source: %q has not the form ALIAS=PATH or Kind/namespace/name=PATH", flag)
		}
		if n := strings.Count(key, "/"); n != 0 && n != 2 {
			return nil, fmt.Errorf("--source: %q is neither an alias nor Kind/namespace/name", key)
		}
		if _, twice := b.paths[key]; twice {
			return nil, fmt.Errorf("--source: %q is bound twice", key)
		}
		for _, prefix := range []string{"", "git:"} {
			if rest, ok := strings.CutPrefix(path, prefix+"~/"); ok && home != "" {
				path = prefix + home + "/" + rest
			}
		}
		b.paths[key] = path
	}
	return b, nil
}

func nameOf(r *recipe.Recipe) string { return r.Namespace + "/" + r.Name }

func refOf(s v1beta1.Source) string {
	return string(s.Kind) + "/" + s.Namespace + "/" + s.Name
}

// resolve returns the path of each source of each recipe, by alias. A binding
// by reference goes before one by alias.
func (b *bindings) resolve(recipes []*recipe.Recipe) ([]map[string]string, error) {
	out := make([]map[string]string, len(recipes))
	var missing, flags []string
	for i, r := range recipes {
		out[i] = make(map[string]string, len(r.Sources))
		for _, alias := range r.Aliases() {
			ref := refOf(r.Sources[alias])
			key := ref
			if _, ok := b.paths[ref]; !ok {
				key = alias
			}
			path, ok := b.paths[key]
			if !ok {
				missing = append(missing, fmt.Sprintf("%q (%s) of %s", alias, ref, nameOf(r)))
				if len(recipes) > 1 {
					key = ref // the alias may mean something else elsewhere
				}
				flags = append(flags, "--source "+key+"=PATH")
			}
			out[i][alias], b.used[key] = path, true
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("--source: nothing is bound to the source %s; add %s",
			strings.Join(missing, ", "), strings.Join(slices.Compact(slices.Sorted(slices.Values(flags))), " "))
	}
	return out, nil
}

// checkUnused refuses bindings that no recipe needs: they are misspelt, or
// stand in for nothing.
func (b *bindings) checkUnused(recipes []*recipe.Recipe) error {
	refs := map[string]string{}
	var known []string
	for _, r := range recipes {
		for _, alias := range r.Aliases() {
			refs[alias] = refOf(r.Sources[alias])
			known = append(known, alias, refs[alias])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.paths)) {
		if b.used[key] {
			continue
		}
		if ref, ok := refs[key]; ok {
			return fmt.Errorf("--source: %q is bound twice, by its alias and as %s", key, ref)
		}
		slices.Sort(known)
		return fmt.Errorf("--source: no generator has a source %q; there are %s", key, strings.Join(slices.Compact(known), ", "))
	}
	return nil
}

// checkAmbiguous refuses an alias that means one source in one generator and
// another in the next.
func (b *bindings) checkAmbiguous(recipes []*recipe.Recipe) error {
	refs := map[string]string{}
	for _, r := range recipes {
		for _, alias := range r.Aliases() {
			ref := refOf(r.Sources[alias])
			if _, ok := b.paths[alias]; !ok || b.paths[ref] != "" {
				continue
			}
			if before, ok := refs[alias]; ok && before != ref {
				return fmt.Errorf("--source: the alias %q means %s in one generator and %s in another; bind them by reference, as in --source %s=PATH",
					alias, before, ref, ref)
			}
			refs[alias] = ref
		}
	}
	return nil
}
