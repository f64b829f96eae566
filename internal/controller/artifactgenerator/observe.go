package artifactgenerator

import (
	"context"
	"fmt"
	"path"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/controller/external"
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
	if r.recipe, err = recipe.Compile(r.generator, r.Recipe); err != nil {
		return err
	}
	if err := unsupported(r.generator); err != nil {
		return err
	}
	if err := r.cycle(ctx); err != nil {
		return err
	}
	if err := r.readSources(ctx); err != nil {
		return fail.Join(err, r.disclaim(ctx))
	}
	r.digest = source.Digest(r.states)
	same, err := r.unchanged(ctx)
	if err != nil {
		return err
	}
	if same {
		return step.Done
	}
	return nil
}

// unsupported refuses what needs an authorisation that is not there yet.
func unsupported(g *v1beta1.ArtifactGenerator) error {
	switch {
	case g.Spec.ManagedNamespaces != nil:
		return fail.Stalled(v1beta1.ReasonValidationFailed, "spec.managedNamespaces: not supported yet")
	case g.Spec.ServiceAccountName != "":
		return fail.Stalled(v1beta1.ReasonValidationFailed, "spec.serviceAccountName: not supported yet")
	}
	for i, a := range g.Spec.Artifacts {
		if a.Namespace != "" && a.Namespace != g.Namespace {
			return fail.Stalled(v1beta1.ReasonValidationFailed,
				"spec.artifacts[%d].namespace: %q: artifacts of other namespaces are not supported yet", i, a.Namespace)
		}
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
		state, err := source.Read(ctx, r.Client, ref)
		if err != nil {
			missing = append(missing, fmt.Sprintf("source %q: %v", alias, err))
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

// unchanged reports whether nothing can have changed since the last pass of
// this process that ended well: not the spec, the sources, the files or the
// objects.
func (r *run) unchanged(ctx context.Context) (bool, error) {
	last := r.ledger.Marked(r.uid())
	if last == nil || !r.pass.Settled || last.Digest != r.digest || last.Generation != r.generator.Generation ||
		r.generator.Status.ObservedSourcesDigest != r.digest {
		return false, nil
	}
	live, err := r.published(ctx)
	if err != nil || len(live) != len(last.Versions) {
		return false, err
	}
	for k, version := range last.Versions {
		if o := live[k]; o == nil || o.ResourceVersion != version {
			return false, nil
		}
	}
	return len(r.missing()) == 0, nil
}

// published returns the objects that say they are this generator's.
func (r *run) published(ctx context.Context) (map[object.Key]*sourcev1.ExternalArtifact, error) {
	var list sourcev1.ExternalArtifactList
	if err := r.Client.List(ctx, &list, client.MatchingFields{indexGenerator: string(r.uid())}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ExternalArtifacts: %w", err)
	}
	out := make(map[object.Key]*sourcev1.ExternalArtifact, len(list.Items))
	for i := range list.Items {
		o := &list.Items[i]
		out[external.KeyOf(o.Namespace, o.Name)] = o
	}
	return out, nil
}

// pathOf returns where the file of an entry is in the store.
func pathOf(e v1beta1.InventoryEntry) string {
	name := types.NamespacedName{Namespace: e.Namespace, Name: e.Name}
	return path.Join(path.Dir(store.Path(name, blob.Digest{})), e.Filename)
}

// missing returns the entries of the inventory whose files are gone.
func (r *run) missing() []v1beta1.InventoryEntry {
	var out []v1beta1.InventoryEntry
	for _, e := range r.generator.Status.Inventory {
		if !e.IsArtifact() {
			continue
		}
		if _, err := store.Stat(r.Store, pathOf(e)); err != nil {
			out = append(out, e)
		}
	}
	return out
}
