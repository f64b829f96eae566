// Package manifest reads ArtifactGenerators from files, as kubectl reads
// objects: YAML or JSON, several in a file, lists, files of a directory. It
// checks their shape as an API server would, not what they ask for.
package manifest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
)

// Generator is an ArtifactGenerator of a file.
type Generator struct {
	// Object has a namespace, "default" if none is written.
	Object v1beta1.ArtifactGenerator
	// Invalid is what an API server would refuse it for, nil if nothing. Of
	// an invalid object only the name and namespace are of use, and they are
	// empty when even those cannot be read.
	Invalid error
}

// String returns namespace/name, or nothing for what has no name.
func (g Generator) String() string {
	if g.Object.Name == "" {
		return ""
	}
	return g.Object.Namespace + "/" + g.Object.Name
}

// Load reads the generators of the files, directories, glob patterns and
// standard input ("-") that names lists, in order and each file once. Objects
// of other kinds are passed over; what cannot be read as YAML is in the result
// as invalid. Errors mean that a name is wrong, or that none holds a generator.
func Load(ctx context.Context, names []string, stdin io.Reader) ([]Generator, error) {
	l := &loader{stdin: stdin, seen: map[string]bool{}, kinds: map[string]bool{}, from: map[string]string{}}
	for _, name := range names {
		files, err := filesOf(name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if err := l.file(ctx, file); err != nil {
				return nil, err
			}
		}
	}
	if len(l.out) == 0 {
		return nil, l.nothing(names)
	}
	return l.out, nil
}

type loader struct {
	stdin io.Reader
	seen  map[string]bool   // files that were read
	kinds map[string]bool   // of the objects passed over
	from  map[string]string // where a generator stands, by name
	out   []Generator
}

// file reads one file. An error means that it cannot be read at all.
func (l *loader) file(ctx context.Context, name string) error {
	id, data, err := read(ctx, name, l.stdin)
	if err != nil || l.seen[id] {
		return err
	}
	l.seen[id] = true
	docs := split(data)
	for i, doc := range docs {
		place := name
		if name == "-" {
			place = "standard input"
		}
		if len(docs) > 1 {
			place = fmt.Sprintf("%s: document %d", place, i+1)
		}
		l.document(place, doc)
	}
	return nil
}

// add keeps a generator. Of two with one name the first is kept: in a cluster
// there can be only one.
func (l *loader) add(place string, g Generator) {
	key := g.String()
	if first, twice := l.from[key]; twice && g.Invalid == nil {
		g.Invalid = fail.Stalled(v1beta1.ReasonValidationFailed, "%s: the generator stands in %s too", place, first)
	}
	if key != "" {
		l.from[key] = place
	}
	l.out = append(l.out, g)
}

// nothing says that no name has led to a generator, and what is there instead.
func (l *loader) nothing(names []string) error {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	text := fmt.Sprintf("no %s of %s in %s", v1beta1.KindArtifactGenerator, v1beta1.GroupVersion, strings.Join(quoted, ", "))
	switch kinds := slices.Sorted(maps.Keys(l.kinds)); {
	case len(l.seen) == 0:
		return fmt.Errorf("%s: there are no .yaml, .yml and .json files; directories below are not searched", text)
	case len(kinds) > 0:
		return fmt.Errorf("%s, only of the kinds %s", text, strings.Join(kinds, ", "))
	default:
		return fmt.Errorf("%s", text)
	}
}
