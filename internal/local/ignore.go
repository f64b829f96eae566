package local

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// ignore holds the patterns that are in force in a directory: the defaults,
// then those of the .sourceignore files on the way to it. Files beside the way
// say nothing about the directory. A nil ignore ignores nothing.
type ignore struct {
	patterns []gitignore.Pattern
	matcher  gitignore.Matcher
}

func defaultIgnore() *ignore {
	ps := slices.Concat(sourceignore.VCSPatterns(nil), sourceignore.DefaultPatterns(nil))
	return &ignore{ps, sourceignore.NewMatcher(ps)}
}

// enter returns the patterns in force in the directory name, whose entries
// are given.
func (i *ignore) enter(fsys fs.FS, name string, entries []fs.DirEntry) (*ignore, error) {
	if i == nil {
		return nil, nil
	}
	for _, e := range entries {
		if e.Name() != sourceignore.IgnoreFile || !e.Type().IsRegular() {
			continue
		}
		data, err := fs.ReadFile(fsys, path.Join(name, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading ignore patterns: %w", err)
		}
		var domain []string
		if name != "." {
			domain = strings.Split(name, "/")
		}
		ps := slices.Concat(i.patterns, sourceignore.ReadPatterns(bytes.NewReader(data), domain))
		return &ignore{ps, sourceignore.NewMatcher(ps)}, nil
	}
	return i, nil
}

// match reports whether the patterns ignore what is at a path from the root.
func (i *ignore) match(name string, dir bool) bool {
	return i != nil && i.matcher.Match(strings.Split(name, "/"), dir)
}

// never reports whether an entry is left out unread, whatever patterns say:
// Git's own directory, which source-controller does not have.
func (i *ignore) never(base string) bool { return i != nil && base == ".git" }
