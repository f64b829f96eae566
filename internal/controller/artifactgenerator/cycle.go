package artifactgenerator

import (
	"context"
	"fmt"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/source"
	"github.com/weir-dev/weir/internal/fail"
)

// cycleWait is how soon a cycle is looked for again: what breaks it may be a
// change of another generator, of which this one hears nothing.
const cycleWait = time.Minute

// cycle refuses a generator that is made of its own artifacts, by however many
// others in between: every build would ask for the next one.
func (r *run) cycle(ctx context.Context) error {
	self := client.ObjectKeyFromObject(r.generator)
	seen := map[types.NamespacedName]bool{}
	todo := []*v1beta1.ArtifactGenerator{r.generator}
	for len(todo) > 0 {
		g := todo[0]
		todo = todo[1:]
		for _, s := range g.Spec.Sources {
			if s.Kind != v1beta1.SourceExternalArtifact {
				continue
			}
			ref := source.RefOf(s, g.Namespace)
			maker, err := r.maker(ctx, ref)
			switch {
			case err != nil:
				return err
			case maker == nil:
			case client.ObjectKeyFromObject(maker) == self:
				return &fail.Error{Reason: v1beta1.ReasonValidationFailed, Class: fail.Wait, After: cycleWait, Err: fmt.Errorf(
					"spec.sources: a cycle: %s, which ArtifactGenerator %s/%s is made of, is made by this generator", ref, g.Namespace, g.Name)}
			case !seen[client.ObjectKeyFromObject(maker)]:
				seen[client.ObjectKeyFromObject(maker)] = true
				todo = append(todo, maker)
			}
		}
	}
	return nil
}

// maker returns the generator that made an ExternalArtifact, nil when there is
// none.
func (r *run) maker(ctx context.Context, ref source.Ref) (*v1beta1.ArtifactGenerator, error) {
	o := &sourcev1.ExternalArtifact{}
	if err := r.Client.Get(ctx, ref.NamespacedName, o); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	own, ok := external.OwnerOf(o)
	if !ok {
		return nil, nil
	}
	g := &v1beta1.ArtifactGenerator{}
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: own.Namespace, Name: own.Name}, g); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return g, nil
}
