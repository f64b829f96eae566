package replication

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/item"
	"github.com/weir-dev/weir/internal/controller/record"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// named is how many failures a message names.
const named = 3

// leaveTime is when to look again for objects that are on their way out.
const leaveTime = 2 * time.Second

// report tells in status what happened, and fails if anything did.
func (r *run) report(context.Context) error {
	if r.result == nil { // nothing was tried
		return &fail.Error{Reason: v1beta2.ReasonFailed, Err: r.broken}
	}
	data, err := record.Data(r.result.Inventory)
	if err != nil {
		return err
	}
	r.status.Inventory = data
	report := item.Of(item.Pass{
		Targets: r.targets, Failures: r.failures, Outcomes: r.result.Outcomes,
		Inventory: r.result.Inventory, Before: r.status.ProcessedItems,
	})
	r.status.ProcessedItems, r.status.Size = report.Items, int64(len(report.Items))
	r.tell()
	if err := r.failed(report); err != nil {
		return &fail.Error{Reason: v1beta2.ReasonFailed, Err: err}
	}
	if !r.result.Done && r.object.GetDeletionTimestamp() != nil {
		return &fail.Error{Reason: v1beta2.ReasonFailed, Class: fail.Wait, After: leaveTime,
			Err: fmt.Errorf("waiting until %d resources are gone", len(report.Items))}
	}
	r.pass.Succeed(v1beta2.MessageReconciled)
	return nil
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

// tell sends one event for each thing that happened.
func (r *run) tell() {
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
	var merged []string
	for _, t := range r.targets {
		if len(t.Renders) > 1 && r.status.ObservedGeneration != 0 && !r.pass.Settled {
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
