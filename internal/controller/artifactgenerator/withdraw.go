package artifactgenerator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/access"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/controller/report"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// again is when to look after objects that are on their way out.
const again = 2 * time.Second

// release finds out what may be removed. What only a ServiceAccount could
// authorise that is gone is left behind, for the generator would wait for ever.
func (r *run) release(ctx context.Context) error {
	keys, err := r.strays(ctx)
	if err != nil {
		return err
	}
	for _, e := range r.inventory() {
		keys = append(keys, draft.KeyOf(e))
	}
	uses := map[string]access.Use{}
	for _, k := range keys {
		r.leave(uses, k)
	}
	denied := r.desk().Check(ctx, r.authority(), uses)
	var left []object.Key
	for _, k := range keys {
		switch err := denied[place(k)]; {
		case err == nil:
			continue
		case errors.Is(err, access.ErrMissing):
			left = append(left, k)
		default:
			r.denied = append(r.denied, draft.Failure(k, reasoned(err)))
		}
		r.alone = append(r.alone, k)
	}
	r.abandon(ctx, left)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	blocked, err := r.bound(ctx, keys, 0)
	if blocked != nil {
		return blocked
	}
	return err
}

// abandon tells of what is left behind.
func (r *run) abandon(ctx context.Context, keys []object.Key) {
	if len(keys) == 0 {
		return
	}
	names := make([]string, len(keys))
	gone := make(map[object.Key]bool, len(keys))
	for i, k := range keys {
		names[i], gone[k] = k.String(), true
	}
	account, _ := r.authority().For(place(keys[0]))
	ctrl.LoggerFrom(ctx).Info("left behind, because the ServiceAccount that authorises their removal is gone",
		"serviceAccount", account.String(), "objects", names)
	r.Events.Record(r.generator, loop.Event{
		Warning: true, Reason: v1beta1.ReasonAccessDenied, Action: "Prune",
		Message: fmt.Sprintf("left behind %s, because ServiceAccount %q, which authorises their removal, is gone", draft.Told(keys), account),
	})
	r.generator.Status.Inventory = slices.DeleteFunc(r.generator.Status.Inventory,
		func(e v1beta1.InventoryEntry) bool { return gone[draft.KeyOf(e)] })
}

// withdraw deletes the objects that are still this generator's.
func (r *run) withdraw(ctx context.Context) error {
	out, err := r.publisher.Withdraw(ctx, r.request())
	if err != nil {
		return err
	}
	r.tell(report.Of(r.generator, out.Changes, false))
	kept := map[object.Key]bool{}
	for _, k := range r.alone {
		kept[k] = true
	}
	for _, e := range r.inventory() {
		if e.IsArtifact() && !out.Left[draft.KeyOf(e)] && !kept[draft.KeyOf(e)] {
			store.Release(r.Store, draft.File(e))
		}
	}
	r.generator.Status.Inventory = slices.DeleteFunc(r.generator.Status.Inventory,
		func(e v1beta1.InventoryEntry) bool { return !out.Left[draft.KeyOf(e)] && !kept[draft.KeyOf(e)] })
	failures := r.denied
	left := slices.SortedFunc(maps.Keys(out.Left), object.Key.Compare)
	for _, k := range left {
		if err := out.Failed[k]; err != nil {
			failures = append(failures, draft.Failure(k, err))
		}
	}
	if len(failures) > 0 {
		return build.Sum(failures, fmt.Sprintf("%d still there", len(left)+len(r.denied)))
	}
	if len(left) > 0 {
		return &fail.Error{Reason: v1beta1.ReasonPruneFailed, Class: fail.Wait, After: again, Err: fmt.Errorf(
			"waiting for the deletion of %s", draft.Told(left))}
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
