package artifactgenerator

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/chain"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/controller/report"
	"github.com/weir-dev/weir/internal/controller/source"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/internal/step"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// observe compiles the spec, reads the source objects and ends the pass when
// all is as the last one left it.
func (r *run) observe(ctx context.Context) error {
	var err error
	r.recipe, err = r.ledger.Recipe(r.uid(), r.generator.Generation, func() (*recipe.Recipe, error) {
		return recipe.Compile(r.generator, r.Recipe)
	})
	if err != nil {
		return err
	}
	if err := chain.Check(ctx, r.Client, r.generator); err != nil {
		return err
	}
	if err := r.readSources(ctx); err != nil {
		return err
	}
	r.digest = source.Digest(r.states)
	if len(r.states) == 1 {
		for _, s := range r.states {
			r.pass.Metadata = report.Origin(cmp.Or(s.OriginRevision, s.Revision))
		}
	}
	same, err := r.unchanged(ctx)
	if err != nil {
		return err
	}
	if same {
		return step.Done
	}
	return nil
}

// readSources reads the states of all sources, and tells of all that are
// missing.
func (r *run) readSources(ctx context.Context) error {
	r.states = make(map[string]source.State, len(r.recipe.Sources))
	var missing []string
	for _, alias := range r.recipe.Aliases() {
		ref := source.RefOf(r.recipe.Sources[alias], r.generator.Namespace)
		state, err := source.Read(ctx, r.Sources, ref)
		if err != nil {
			missing = append(missing, fmt.Sprintf("source %q: %v%s", alias, err, r.hope(ctx, ref)))
			continue
		}
		r.states[alias] = state
	}
	if len(missing) == 0 {
		return nil
	}
	e := fail.Retried(v1beta1.ReasonSourceFetchFailed, "%s", strings.Join(missing, "; "))
	e.Class, e.After = fail.Wait, r.Wait
	return e
}

// hope names the generators that are to make a source which is not there.
func (r *run) hope(ctx context.Context, ref source.Ref) string {
	if ref.Kind != v1beta1.SourceExternalArtifact {
		return ""
	}
	makers, err := chain.Makers(ctx, r.Client, ref)
	if err != nil || len(makers) == 0 {
		return "" // It is only a hint.
	}
	return fmt.Sprintf(", which ArtifactGenerator %s is to make", client.ObjectKeyFromObject(makers[0]))
}

// unchanged reports whether nothing can have changed since the last pass of
// this process that ended well: not the spec, the sources, the files or the
// objects.
func (r *run) unchanged(ctx context.Context) (bool, error) {
	last := r.ledger.Marked(r.uid())
	if last == nil || !r.pass.Settled || last.Digest != r.digest || last.Generation != r.generator.Generation ||
		r.generator.Status.ObservedSourcesDigest != r.digest {
		return false, nil
	}
	live, err := r.publisher.Versions(ctx, r.uid())
	if err != nil || !last.Same(live) {
		return false, err
	}
	return len(r.missing()) == 0, nil
}

// missing returns where the files of the inventory are that are gone, by key.
func (r *run) missing() map[object.Key]string {
	out := map[object.Key]string{}
	for _, e := range r.generator.Status.Inventory {
		if !e.IsArtifact() {
			continue
		}
		if _, err := store.Stat(r.Store, draft.File(e)); err != nil {
			out[draft.KeyOf(e)] = draft.File(e)
		}
	}
	return out
}

// disclaim makes the ExternalArtifacts say so whose files are gone when a step
// fails: they cannot be made again now.
func (r *run) disclaim(ctx context.Context, err error) error {
	gone := r.missing()
	if len(gone) == 0 {
		return err
	}
	return fail.Join(err, r.publisher.Disclaim(ctx, r.uid(), gone))
}
