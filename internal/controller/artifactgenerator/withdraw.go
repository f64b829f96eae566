package artifactgenerator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/controller/report"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/internal/tally"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// again is when to look after objects that are on their way out.
const again = 2 * time.Second

// withdraw deletes the ExternalArtifacts that are still this generator's.
func (r *run) withdraw(ctx context.Context) error {
	out, err := r.publisher.Withdraw(ctx, r.request(nil))
	if out != nil {
		r.tell(report.Of(r.generator, out.Changes, false))
	}
	if err != nil {
		return err
	}
	for _, e := range r.generator.Status.Inventory {
		if e.IsArtifact() && !out.Left[draft.KeyOf(e)] {
			store.Release(r.Store, draft.File(e))
		}
	}
	if left := slices.SortedFunc(maps.Keys(out.Left), object.Key.Compare); len(left) > 0 {
		return &fail.Error{Reason: v1beta1.ReasonPruneFailed, Class: fail.Wait, After: again, Err: fmt.Errorf(
			"waiting for the deletion of %s", tally.Of(len(left), "artifact", func(i int) string { return left[i].Namespace + "/" + left[i].Name }))}
	}
	return nil
}

// forget drops what is known of the generator. The files follow with the next
// sweep, for others may have taken a name over.
func (r *run) forget(context.Context) error {
	r.ledger.Forget(r.uid())
	r.Swept()
	return nil
}
