package artifactgenerator

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/draft"
)

// build makes the artifacts out of the trees, and drafts what is to become of
// them.
func (r *run) build(ctx context.Context) error {
	result, err := build.Build(ctx, r.recipe, r.sources, r.Build)
	if err != nil {
		return fmt.Errorf("building: %w", err)
	}
	for i, n := range result.Namespaces {
		result.Namespaces[i].Metadata = n.Metadata.Stamped(string(r.uid()))
	}
	r.draft = draft.Of(r.inventory(), result)
	if r.generator.Spec.PathPattern != "" && !r.pass.Settled && !isForced(r.generator) {
		return r.draft.Guard(r.generator.Spec.PathPattern)
	}
	return nil
}

func isForced(g *v1beta1.ArtifactGenerator) bool {
	return strings.EqualFold(g.Annotations[v1beta1.AnnotationPrune], v1beta1.ValueForce)
}
