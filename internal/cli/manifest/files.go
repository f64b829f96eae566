package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reader reads the objects of files, each file once.
type reader struct {
	stdin io.Reader
	seen  map[string]bool // files that were read
	// take is told of each object, and broken of each document that cannot be read.
	take   func(place string, doc []byte, h header)
	broken func(place string, err error)
}

// all reads the files, directories, glob patterns and standard input ("-") that
// names lists.
func (r *reader) all(ctx context.Context, names []string) error {
	for _, name := range names {
		files, err := filesOf(name)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := r.file(ctx, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// file reads one file. An error means that it cannot be read at all.
func (r *reader) file(ctx context.Context, name string) error {
	id, data, err := read(ctx, name, r.stdin)
	if err != nil || r.seen[id] {
		return err
	}
	r.seen[id] = true
	docs := split(data)
	for i, doc := range docs {
		place := name
		if name == "-" {
			place = "standard input"
		}
		if len(docs) > 1 {
			place = fmt.Sprintf("%s: document %d", place, i+1)
		}
		r.document(place, doc)
	}
	return nil
}

// nothing says that no name has led to what is wanted, and what kinds are there
// instead.
func (r *reader) nothing(names []string, wanted string, instead map[string]bool) error {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	text := fmt.Sprintf("no %s in %s", wanted, strings.Join(quoted, ", "))
	switch kinds := slices.Sorted(maps.Keys(instead)); {
	case len(r.seen) == 0:
		return fmt.Errorf("%s: there are no .yaml, .yml and .json files; directories below are not searched", text)
	case len(kinds) > 0:
		return fmt.Errorf("%s, only of the kinds %s", text, strings.Join(kinds, ", "))
	default:
		return fmt.Errorf("%s", text)
	}
}

// filesOf returns the manifests that a name stands for, sorted: those directly
// in a directory, those that match a pattern, or the one file.
func filesOf(name string) ([]string, error) {
	if name == "-" {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(name, "*?["):
		return matching(name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%q: no such file or directory", name)
	case err != nil:
		return nil, err
	case info.IsDir():
		return filesIn(name)
	default:
		return []string{name}, nil
	}
}

func matching(pattern string) ([]string, error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", pattern, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%q: no file matches", pattern)
	}
	return names, nil
}

func filesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch filepath.Ext(name) {
		case ".yaml", ".yml", ".json":
			// A link counts as what it leads to.
			if info, err := os.Stat(name); err != nil || !info.IsDir() {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

// read returns the content of a file, and an id that tells whether two names
// mean one file.
func read(ctx context.Context, name string, stdin io.Reader) (id string, data []byte, err error) {
	if name == "-" {
		data, err = readAll(ctx, stdin)
		return name, data, err
	}
	if id, err = filepath.Abs(name); err != nil {
		return "", nil, err
	}
	data, err = os.ReadFile(name)
	return id, data, err
}

// readAll reads r to its end or until ctx ends. Nothing can interrupt the read
// of a terminal, so that it is left alone then.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(r)
		done <- result{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		return r.data, r.err
	}
}
