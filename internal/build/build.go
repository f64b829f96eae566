// Package build makes all artifacts of a recipe, and the metadata of the
// namespaces they go to, out of source trees. What fails does not stop the
// rest. It fetches, stores and publishes nothing.
package build

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/compose"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/inputs"
	"github.com/weir-dev/weir/internal/metadata"
	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/internal/tree"
)

// Source is what a generator sees of one of its sources.
type Source struct {
	Tree tree.Tree
	// Revision is the source's own, such as main@sha1:….
	Revision string
	// OriginRevision is what the source says it was made from; empty means
	// that it is its own origin.
	OriginRevision string
}

// Artifact is an artifact that was built.
type Artifact struct {
	Namespace, Name string
	Tree            tree.Tree
	// Content is the content digest of the tree.
	Content blob.Digest
	// Revision is made from Content, or taken from a source.
	Revision string
	// OriginRevision is empty unless the spec asks for it.
	OriginRevision string
	// Metadata holds all labels and annotations but the generator's UID.
	Metadata metadata.Set
	// Inputs are the exported inputs by name; nil for none.
	Inputs map[string]apiextensionsv1.JSON
}

// Options bound a build. The zero value works.
type Options struct {
	// Concurrency is how many artifacts are made at once; zero means one a
	// processor.
	Concurrency int
	// Compose is passed on for each artifact.
	Compose compose.Options
}

// Build makes the artifacts. It returns an error only when ctx ends; what
// cannot be built is in the result. The order of the result does not depend on
// the concurrency.
func Build(ctx context.Context, r *recipe.Recipe, sources map[string]Source, o Options) (*Result, error) {
	if o.Concurrency <= 0 {
		o.Concurrency = runtime.GOMAXPROCS(0)
	}
	b := &builder{recipe: r, sources: sources, trees: make(map[string]tree.Tree, len(sources)), options: o}
	for alias, s := range sources {
		b.trees[alias] = s.Tree
	}
	wanted, withheld := r.Artifacts(b.trees)
	for _, w := range withheld {
		b.result.fail(Failure{Subject: w.Subject, Namespace: w.Namespace, Name: w.Name}, w.Err)
	}
	wanted = b.namespaces(wanted)
	if err := b.artifacts(ctx, wanted); err != nil {
		return nil, err
	}
	return &b.result, nil
}

type builder struct {
	recipe  *recipe.Recipe
	sources map[string]Source
	trees   map[string]tree.Tree
	options Options
	result  Result
}

// artifacts makes what is wanted, several at once.
func (b *builder) artifacts(ctx context.Context, wanted []recipe.Artifact) error {
	made := make([]Artifact, len(wanted))
	errs := make([]error, len(wanted))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(b.options.Concurrency)
	for i, w := range wanted {
		group.Go(func() error {
			made[i], errs[i] = b.artifact(ctx, w)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, w := range wanted {
		if errs[i] != nil {
			b.result.fail(ofArtifact(w.Namespace, w.Name), errs[i])
			continue
		}
		b.result.Artifacts = append(b.result.Artifacts, made[i])
	}
	return nil
}

func (b *builder) artifact(ctx context.Context, w recipe.Artifact) (Artifact, error) {
	t, err := compose.Compose(ctx, w.Copy, b.trees, b.options.Compose)
	if err != nil {
		return Artifact{}, &fail.Error{Reason: v1beta1.ReasonBuildFailed, Err: err}
	}
	a := Artifact{Namespace: w.Namespace, Name: w.Name, Tree: t, Content: pack.Digest(t)}
	a.Metadata = b.recipe.Common.Override(metadata.Set{Labels: w.Captures}).Stamped("")
	a.Revision = pack.Revision(a.Content)
	if w.Revision != "" {
		a.Revision = b.sources[w.Revision].Revision
	}
	if w.OriginRevision != "" {
		s := b.sources[w.OriginRevision]
		if a.OriginRevision = s.OriginRevision; a.OriginRevision == "" {
			a.OriginRevision = s.Revision
		}
	}
	if w.Inputs != nil {
		from := t
		if w.Inputs.Alias != v1beta1.ArtifactAlias {
			from = b.trees[w.Inputs.Alias]
		}
		if a.Inputs, err = inputs.Read(from, w.Inputs.Path); err != nil {
			return Artifact{}, fail.Retried(v1beta1.ReasonBuildFailed, "inputsFrom: %q: %w", w.Inputs, err)
		}
	}
	return a, nil
}
