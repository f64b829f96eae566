// Package manifest reads ArtifactGenerators and replications from files, as
// kubectl reads objects: YAML or JSON, several in a file, lists, files of a
// directory. It checks their shape as an API server would, not what they ask
// for.
package manifest

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	g := &generators{kinds: map[string]bool{}, from: map[string]string{}}
	r := &reader{stdin: stdin, seen: map[string]bool{}, take: g.take, broken: func(place string, err error) {
		g.add(place, Generator{Invalid: invalid(place, err)})
	}}
	if err := r.all(ctx, names); err != nil {
		return nil, err
	}
	if len(g.out) == 0 {
		return nil, r.nothing(names, v1beta1.KindArtifactGenerator+" of "+v1beta1.GroupVersion.String(), g.kinds)
	}
	return g.out, nil
}

// generators are those that were found.
type generators struct {
	kinds map[string]bool   // of the objects passed over
	from  map[string]string // where a generator stands, by name
	out   []Generator
}

// take keeps an object if it is a generator.
func (l *generators) take(place string, doc []byte, h header) {
	err := known(h)
	if err == nil && h.Kind != v1beta1.KindArtifactGenerator {
		l.kinds[h.Kind] = true
		return
	}
	var g Generator
	if err == nil {
		err = strictly(doc, &g.Object)
	}
	if g.Object.Name, g.Object.Namespace = h.Metadata.Name, h.Metadata.Namespace; g.Object.Namespace == "" {
		g.Object.Namespace = metav1.NamespaceDefault
	}
	if err == nil {
		err = checkNames("an "+v1beta1.KindArtifactGenerator, g.Object.Name, g.Object.Namespace)
	}
	if err != nil {
		g.Invalid = invalid(place, err)
	}
	l.add(place, g)
}

// known finds slips in the header that would make a generator seem to be
// somebody else's object.
func known(h header) error {
	gv, err := schema.ParseGroupVersion(h.APIVersion)
	ours := err == nil && gv.Group == v1beta1.GroupVersion.Group
	switch {
	case ours && h.Kind == v1beta1.KindNamespaceMetadata:
		return nil
	case ours && h.Kind != v1beta1.KindArtifactGenerator:
		return fmt.Errorf("kind: %q is not of the group %s; there are %s and %s",
			h.Kind, gv.Group, v1beta1.KindArtifactGenerator, v1beta1.KindNamespaceMetadata)
	case h.Kind == v1beta1.KindArtifactGenerator && gv != v1beta1.GroupVersion:
		return fmt.Errorf("apiVersion: %q is not known of an %s, want %s", h.APIVersion, h.Kind, v1beta1.GroupVersion)
	default:
		return nil
	}
}

// add keeps a generator. Of two with one name the first is kept: in a cluster
// there can be only one.
func (l *generators) add(place string, g Generator) {
	key := g.String()
	if first, twice := l.from[key]; twice && g.Invalid == nil {
		g.Invalid = fail.Stalled(v1beta1.ReasonValidationFailed, "%s: the generator stands in %s too", place, first)
	}
	if key != "" {
		l.from[key] = place
	}
	l.out = append(l.out, g)
}
