package replication

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/item"
	"github.com/weir-dev/weir/internal/controller/sight"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// named is how many failures a message names.
const named = 3

// leaveTime is when to look again for objects that are on their way out.
const leaveTime = 2 * time.Second

// report tells in status what happened, and fails if anything did.
func (r *run) report(ctx context.Context) error {
	if r.result == nil { // nothing was tried
		return &fail.Error{Reason: v1beta2.ReasonFailed, Err: r.broken}
	}
	report := item.Of(item.Pass{
		Targets: r.targets, Failures: r.failures, Outcomes: r.result.Outcomes,
		Inventory: r.result.Inventory, Before: r.record.Items(),
	})
	if err := r.record.Close(ctx, r.result.Inventory, report.Items); err != nil {
		return err
	}
	news := skipped(report.Items, r.record.Items())
	r.tell(news)
	r.look(ctx)
	if err := r.failed(report); err != nil {
		e := &fail.Error{Reason: v1beta2.ReasonFailed, Err: err}
		if r.blocked != nil {
			e.Reason, e.Err = v1beta2.ReasonPruneBlocked, fail.Join(r.blocked, err)
		}
		return e
	}
	if r.blocked != nil {
		return r.blocked
	}
	if !r.result.Done && r.object.GetDeletionTimestamp() != nil {
		return &fail.Error{Reason: v1beta2.ReasonFailed, Class: fail.Wait, After: leaveTime,
			Err: fmt.Errorf("waiting until %d resources are gone", len(report.Items))}
	}
	r.pass.Succeed(v1beta2.MessageReconciled)
	return nil
}

// look watches what was read and written. What cannot be watched is looked at
// again at the end of the resync period, so that is no failure of the pass.
func (r *run) look(ctx context.Context) {
	if r.Sight == nil {
		return
	}
	i := sight.Interest{Targets: map[schema.GroupVersionKind]map[object.Key]string{}}
	if r.search != nil {
		i.Sources = r.search.Asked()
	}
	for _, it := range r.result.Inventory.Items {
		gvk := it.GroupKind().WithVersion(it.Version)
		if i.Targets[gvk] == nil {
			i.Targets[gvk] = map[object.Key]string{}
		}
		i.Targets[gvk][it.Key] = it.ResourceVersion
	}
	if err := r.Sight.Set(ctx, r.asOwner(), i); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).V(1).Info("not everything is watched", "cause", err.Error())
	}
}

// failed returns one error for all that failed: how much, and the first.
func (r *run) failed(report item.Report) error {
	var renders []error
	for _, f := range r.failures {
		if f.Key.Name == "" {
			renders = append(renders, f)
		}
	}
	var errs []error
	for _, kind := range []struct {
		what string
		errs []error
	}{
		{"pruning of %d resources failed", report.Pruning},
		{"rendering failed %d times", renders},
		{"applying of %d resources failed", report.Applying},
	} {
		if n := len(kind.errs); n > 0 {
			errs = append(errs, fmt.Errorf(kind.what+": %w", n, first(kind.errs)))
		}
	}
	return fail.Join(append(errs, r.broken)...)
}

// first joins the first errors and counts the others.
func first(errs []error) error {
	if len(errs) <= named {
		return fail.Join(errs...)
	}
	return fmt.Errorf("%w; and %d more", fail.Join(errs[:named]...), len(errs)-named)
}

// skipped returns the targets that are skipped and were not before.
func skipped(is, was []v1beta2.ProcessedItem) []string {
	type id struct{ group, kind, namespace, name string }
	before := map[id]bool{}
	for _, it := range was {
		before[id{it.Group, it.Kind, it.Namespace, it.Name}] = it.Status.Message == v1beta2.MessageSkipped
	}
	var out []string
	for _, it := range is {
		if it.Status.Message == v1beta2.MessageSkipped && !before[id{it.Group, it.Kind, it.Namespace, it.Name}] {
			out = append(out, object.Key{Group: it.Group, Kind: it.Kind, Namespace: it.Namespace, Name: it.Name}.String())
		}
	}
	return out
}

// tell sends one event for each thing that happened.
func (r *run) tell(skipped []string) {
	if r.Events == nil {
		return
	}
	for _, kind := range []struct {
		reason  string
		warning bool
		is      func(*plan.Outcome) bool
	}{
		{v1beta2.ReasonCreated, false, did(plan.Create)},
		{v1beta2.ReasonAdopted, false, did(plan.Adopt)},
		{v1beta2.ReasonPruned, false, did(plan.Delete, plan.Leave)},
		{v1beta2.ReasonOrphaned, false, did(plan.Release)},
		{v1beta2.ReasonConflict, true, func(o *plan.Outcome) bool {
			return o.Err != nil && (has(o, plan.FieldConflict) || has(o, plan.OwnerConflict))
		}},
	} {
		var keys []string
		for i := range r.result.Outcomes {
			if o := &r.result.Outcomes[i]; kind.is(o) {
				keys = append(keys, o.String())
			}
		}
		r.event(kind.reason, kind.warning, keys)
	}
	r.event(v1beta2.ReasonSkipped, false, skipped)
	var merged []string
	for _, t := range r.targets {
		if len(t.Renders) > 1 && !r.pass.Settled {
			merged = append(merged, fmt.Sprintf("%s of %s", t.Key, strings.Join(t.Renders, ", ")))
		}
	}
	r.event(v1beta2.ReasonMerged, false, merged)
}

func (r *run) event(reason string, warning bool, what []string) {
	if len(what) == 0 {
		return
	}
	message := strings.Join(what[:min(len(what), named)], ", ")
	if more := len(what) - named; more > 0 {
		message = fmt.Sprintf("%s and %d more", message, more)
	}
	r.Events.Record(r.object, loop.Event{Warning: warning, Reason: reason, Message: message})
}

func did(verbs ...plan.Verb) func(*plan.Outcome) bool {
	return func(o *plan.Outcome) bool {
		for _, v := range verbs {
			if o.Verb == v && o.Err == nil {
				return true
			}
		}
		return false
	}
}

func has(o *plan.Outcome, r plan.Reason) bool {
	for _, is := range o.Reasons {
		if is == r {
			return true
		}
	}
	return false
}
