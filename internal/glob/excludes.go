package glob

import (
	"fmt"
	"path"
	"strings"
)

// MaxExcludes is the number of patterns that one copy may exclude.
const MaxExcludes = 100

// Excludes is the exclude list of one copy. It does not change, and concurrent
// calls are safe. A nil Excludes excludes nothing.
type Excludes struct {
	paths []*Pattern // may match any path
	names []*Pattern // have no slash: may match the base name
}

// CompileExcludes compiles a list of patterns. An empty pattern has no effect,
// and a list without effect is nil.
func CompileExcludes(patterns []string) (*Excludes, error) {
	if len(patterns) > MaxExcludes {
		return nil, fmt.Errorf("exclude has %d patterns, at most %d are allowed", len(patterns), MaxExcludes)
	}
	var e Excludes
	for _, text := range patterns {
		if text == "" {
			continue
		}
		p, err := Compile(text)
		if err != nil {
			return nil, fmt.Errorf("exclude: %w", err)
		}
		name := !strings.Contains(text, "/")
		if name {
			e.names = append(e.names, p)
		}
		// One that cannot match a slash matches no more than names; "**" does
		// not either, since it matches every name.
		if !name || p.auto.slash {
			e.paths = append(e.paths, p)
		}
	}
	if e.paths == nil && e.names == nil {
		return nil, nil
	}
	return &e, nil
}

// Match reports whether a path is excluded. rootPath is the path from the root
// of the source; selPath is the same from the root of the selection, or empty
// when there is none. A pattern excludes what it matches as either, and
// without a slash also what it matches as the base name.
//
// Excluding a directory excludes all below it; that is left to the caller.
func (e *Excludes) Match(rootPath, selPath string) bool {
	if e == nil {
		return false
	}
	name := path.Base(rootPath)
	for _, p := range e.names {
		if p.Match(name) {
			return true
		}
	}
	for _, p := range e.paths {
		if p.Match(rootPath) || selPath != "" && selPath != rootPath && p.Match(selPath) {
			return true
		}
	}
	return false
}
