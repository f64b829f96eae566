package artifactgenerator

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// again is when to look after objects that are on their way out.
const again = 2 * time.Second

// withdraw deletes the ExternalArtifacts that are still this generator's. The
// files follow with the next sweep, for others may have taken a name over.
func (r *run) withdraw(ctx context.Context) error {
	live, err := r.published(ctx)
	if err != nil {
		return err
	}
	result, err := r.objects.Delete(ctx, reconciler.Request{
		Owner: reconciler.Owner{ID: string(r.uid())}, Store: r.open(live),
	})
	if err != nil {
		return &fail.Error{Reason: v1beta1.ReasonPruneFailed, Err: err}
	}
	var pruned []string
	for _, o := range result.Outcomes {
		if o.Verb == plan.Delete {
			pruned = append(pruned, o.Namespace+"/"+o.Name)
		}
	}
	r.tellOf(reasonPruned, "deleted", pruned)
	if left := result.Inventory.Items; len(left) > 0 {
		return &fail.Error{Reason: v1beta1.ReasonPruneFailed, Class: fail.Wait, After: again, Err: fmt.Errorf(
			"waiting for the deletion of %s", some(len(left), "artifact", func(i int) string { return left[i].Namespace + "/" + left[i].Name }))}
	}
	return nil
}

// forget drops what is known of the generator.
func (r *run) forget(context.Context) error {
	r.ledger.Forget(r.uid())
	r.Swept()
	return nil
}
