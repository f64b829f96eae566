package artifactgenerator

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/fail"
)

// build makes the artifacts out of the trees, and drafts what is to become of
// them.
func (r *run) build(ctx context.Context) error {
	result, err := build.Build(ctx, r.recipe, r.sources, r.Build)
	if err != nil {
		return fmt.Errorf("building: %w", err)
	}
	r.draft = draft.Of(r.generator.Status.Inventory, result)
	if r.generator.Spec.PathPattern != "" && !r.pass.Settled && !isForced(r.generator) {
		return r.draft.Guard(r.generator.Spec.PathPattern)
	}
	return nil
}

func isForced(g *v1beta1.ArtifactGenerator) bool {
	return strings.EqualFold(g.Annotations[v1beta1.AnnotationPrune], v1beta1.ValueForce)
}

// authorise withholds the artifacts that the generator may not publish.
func (r *run) authorise(context.Context) error {
	r.draft.Withhold(func(a build.Artifact) *fail.Error {
		if a.Namespace == r.generator.Namespace {
			return nil
		}
		return fail.Stalled(v1beta1.ReasonValidationFailed,
			"artifacts in other namespaces than the generator's are not supported yet, and this one's is %q", a.Namespace)
	})
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
	return nil
}
