package artifactgenerator

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/ledger"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// Reasons of events beside those of conditions.
const (
	reasonPublished = "ArtifactPublished"
	reasonPruned    = "ArtifactPruned"
	reasonDrift     = "DriftCorrected"
)

// after returns the inventory at the end: what was published, what stays, and
// what could not be removed. It is sorted.
func (r *run) after(before []v1beta1.InventoryEntry, done map[object.Key]told, result *reconciler.Result) []v1beta1.InventoryEntry {
	has := make(map[object.Key]v1beta1.InventoryEntry, len(before))
	for _, e := range before {
		has[keyOf(e)] = e
	}
	out := slices.Clone(r.plan.keep)
	ours := make(map[object.Key]bool, len(r.plan.publish))
	for _, a := range r.plan.publish {
		k := external.KeyOf(a.Namespace, a.Name)
		ours[k] = true
		e, had := has[k]
		_, ok := done[k]
		_, known := result.Inventory.Find(k)
		switch {
		case ok:
			out = append(out, entryOf(a))
		case had:
			out = append(out, e)
		case known:
			out = append(out, entryOf(a))
		}
	}
	for _, it := range result.Inventory.Items {
		if e, had := has[it.Key]; had && !ours[it.Key] {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b v1beta1.InventoryEntry) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// report tells by events what the pass changed.
func (r *run) report(done map[object.Key]told, result *reconciler.Result) {
	var published, pruned, repaired []string
	for _, o := range result.Outcomes {
		name := o.Namespace + "/" + o.Name
		switch {
		case o.Err != nil:
		case o.Verb == plan.Delete:
			pruned = append(pruned, name)
		case slices.Contains(o.Reasons, plan.TakenOver):
			r.claim(o, v1beta1.ReasonOwnershipConflict, "managed by another generator, is taken over by")
		case o.Verb == plan.Adopt:
			r.claim(o, v1beta1.ReasonAdopted, "managed by no generator, is adopted by")
		case r.repairs() && (o.Verb.Writes() || done[o.Key].changed):
			repaired = append(repaired, name)
			continue
		}
		if done[o.Key].changed {
			published = append(published, name)
		}
	}
	r.tellOf(reasonPublished, "published", published)
	r.tellOf(reasonPruned, "deleted", pruned)
	r.tellOf(reasonDrift, "changed by others and repaired", repaired)
}

// repairs reports whether the pass has nothing to do but to repair what others
// changed.
func (r *run) repairs() bool {
	return !r.announced && r.pass.Settled && r.generator.Status.ObservedSourcesDigest == r.digest
}

// claim warns that an object changes hands, on the object and on the generator.
func (r *run) claim(o plan.Outcome, reason, what string) {
	e := loop.Event{Warning: true, Reason: reason, Message: fmt.Sprintf("ExternalArtifact %s/%s, %s ArtifactGenerator %s/%s",
		o.Namespace, o.Name, what, r.generator.Namespace, r.generator.Name)}
	about := &sourcev1.ExternalArtifact{}
	about.SetGroupVersionKind(external.Kind)
	about.Namespace, about.Name = o.Namespace, o.Name
	about.UID = o.Pre.UID
	r.Events.Record(about, e)
	r.Events.Record(r.generator, e)
}

func (r *run) tellOf(reason, what string, names []string) {
	if len(names) > 0 {
		r.Events.Record(r.generator, loop.Event{
			Reason: reason, Message: what + ": " + some(len(names), "artifact", func(i int) string { return names[i] }),
		})
	}
}

// trouble returns all failures as one error. Conflicts alone are no news: the
// pass is made again.
func (r *run) trouble(published int) error {
	if len(r.failures) == 0 {
		return nil
	}
	if !slices.ContainsFunc(r.failures, func(f build.Failure) bool { return !apierrors.IsConflict(f.Err) }) {
		return r.failures[0].Err
	}
	result := build.Result{Failures: r.failures, Artifacts: r.plan.publish[:published]}
	return result.Err()
}

// reasoned returns the error with a reason.
func reasoned(err error) *fail.Error {
	if e, ok := fail.As(err); ok {
		return e
	}
	return &fail.Error{Reason: v1beta1.ReasonReconciliationFailed, Err: err}
}

// sweep remembers what a pass that ended well has seen, and tells of files that
// may have become superfluous.
func (r *run) sweep(context.Context) error {
	r.ledger.Mark(r.uid(), ledger.Mark{Generation: r.generator.Generation, Digest: r.digest, Versions: r.seen})
	r.pass.Succeed("reconciliation succeeded, generated %d artifact(s)", len(r.plan.publish))
	r.Swept()
	return nil
}
