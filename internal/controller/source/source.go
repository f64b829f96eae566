// Package source sees Flux's source objects as values: which one is meant, what
// artifact it has, and when that is news. It downloads nothing.
package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// Object is a source object of any kind.
type Object interface {
	client.Object
	sourcev1.Source
}

// kinds makes an empty object of each kind.
var kinds = map[v1beta1.SourceKind]func() Object{
	v1beta1.SourceGitRepository:    func() Object { return &sourcev1.GitRepository{} },
	v1beta1.SourceOCIRepository:    func() Object { return &sourcev1.OCIRepository{} },
	v1beta1.SourceBucket:           func() Object { return &sourcev1.Bucket{} },
	v1beta1.SourceHelmChart:        func() Object { return &sourcev1.HelmChart{} },
	v1beta1.SourceExternalArtifact: func() Object { return &sourcev1.ExternalArtifact{} },
}

// Kinds returns all kinds of sources, sorted.
func Kinds() []v1beta1.SourceKind { return slices.Sorted(maps.Keys(kinds)) }

// New returns an empty object of a kind of [Kinds].
func New(kind v1beta1.SourceKind) Object { return kinds[kind]() }

// Ref names a source object.
type Ref struct {
	Kind v1beta1.SourceKind
	types.NamespacedName
}

// RefOf returns what a source of a generator refers to, whose namespace is that
// of the generator unless it says otherwise.
func RefOf(s v1beta1.Source, namespace string) Ref {
	if s.Namespace != "" {
		namespace = s.Namespace
	}
	return Ref{s.Kind, types.NamespacedName{Namespace: namespace, Name: s.Name}}
}

// String returns the reference as people write it; as a key it is unique.
func (r Ref) String() string { return fmt.Sprintf("%s/%s/%s", r.Kind, r.Namespace, r.Name) }

// State is what matters of a source object. It is comparable.
type State struct {
	Digest, Revision, OriginRevision, URL string
	Size                                  int64
}

// StateOf returns the state of a source, and false while it has no artifact.
func StateOf(o Object) (State, bool) {
	a := o.GetArtifact()
	if a == nil {
		return State{}, false
	}
	s := State{Digest: a.Digest, Revision: a.Revision, URL: a.URL, OriginRevision: a.Metadata[v1beta1.OriginRevisionKey]}
	if a.Size != nil {
		s.Size = *a.Size
	}
	return s, true
}

// Read reads the state of a source. That it is missing or has no artifact is an
// error too.
func Read(ctx context.Context, c client.Reader, r Ref) (State, error) {
	o := New(r.Kind)
	err := c.Get(ctx, r.NamespacedName, o)
	switch {
	case apierrors.IsNotFound(err):
		return State{}, fmt.Errorf("%s not found", r)
	case err != nil:
		return State{}, fmt.Errorf("reading %s: %w", r, err)
	}
	s, ok := StateOf(o)
	if !ok {
		return State{}, fmt.Errorf("%s has no artifact yet", r)
	}
	return s, nil
}

// Digest returns the digest of the states by alias, as algorithm:hex. It
// changes with whatever an artifact could depend on.
func Digest(states map[string]State) string {
	h := sha256.New()
	for _, alias := range slices.Sorted(maps.Keys(states)) {
		s := states[alias]
		fmt.Fprintf(h, "%q %q %q %q %q\n", alias, s.Digest, s.Revision, s.OriginRevision, s.URL)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
