package build

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/metadata"
	"github.com/weir-dev/weir/internal/namespace"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/internal/tree"
)

// Namespace is a namespace to manage.
type Namespace struct {
	Name string
	// Metadata holds all labels and annotations but the generator's UID.
	Metadata metadata.Set
}

// namespaces decides on the namespaces that artifacts go to, and returns the
// artifacts without those whose namespace may not be managed. The generator's
// own namespace is not managed: pruning it would delete the generator.
func (b *builder) namespaces(wanted []recipe.Artifact) []recipe.Artifact {
	if b.recipe.Managed == nil {
		return wanted
	}
	files := map[string][]recipe.Ref{}
	for _, a := range wanted {
		if a.Namespace == b.recipe.Namespace {
			continue
		}
		refs := files[a.Namespace]
		if a.Metadata != nil && !slices.Contains(refs, *a.Metadata) {
			refs = append(refs, *a.Metadata)
		}
		files[a.Namespace] = refs
	}
	refused := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := b.recipe.Managed.Admit(name); err != nil {
			refused[name] = true
			b.result.Failures = append(b.result.Failures, OfNamespace(name, fail.Stalled(v1beta1.ReasonValidationFailed,
				"spec.managedNamespaces.allowedNames: %w", err)))
			continue
		}
		set, err := b.metadata(name, files[name])
		if err != nil {
			b.result.Failures = append(b.result.Failures, OfNamespace(name, &fail.Error{Reason: v1beta1.ReasonBuildFailed, Err: err}))
			continue
		}
		b.result.Namespaces = append(b.result.Namespaces, Namespace{Name: name, Metadata: set.Stamped("")})
	}
	return slices.DeleteFunc(wanted, func(a recipe.Artifact) bool { return refused[a.Namespace] })
}

// metadata computes what the namespace gets. A file that does not exist asks
// for nothing: tenants may have one, and need not.
func (b *builder) metadata(name string, refs []recipe.Ref) (metadata.Set, error) {
	if len(refs) == 0 {
		return b.recipe.Managed.Metadata(name, nil)
	}
	ref := refs[0]
	if len(refs) > 1 {
		return metadata.Set{}, fmt.Errorf("its artifacts name two metadata files, %q and %q; directories that differ in case share a namespace",
			ref, refs[1])
	}
	e, ok := b.trees[ref.Alias].Lookup(ref.Path)
	if !ok {
		return b.recipe.Managed.Metadata(name, nil)
	}
	data, err := readSmall(e)
	if err != nil {
		return metadata.Set{}, fmt.Errorf("%q: %w", ref, err)
	}
	set, err := b.recipe.Managed.Metadata(name, data)
	if err != nil {
		return metadata.Set{}, fmt.Errorf("%q: %w", ref, err)
	}
	return set, nil
}

func readSmall(e tree.Entry) ([]byte, error) {
	switch {
	case e.IsDir():
		return nil, errors.New("a directory, want a NamespaceMetadata file")
	case e.Blob.Size() > namespace.MaxFile:
		return nil, fmt.Errorf("%d bytes are too many: at most %d", e.Blob.Size(), namespace.MaxFile)
	default:
		return e.Blob.ReadAll()
	}
}
