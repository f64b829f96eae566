package publish

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// Kind is what was done with an object.
type Kind int

const (
	// Updated is an object that was ours.
	Updated Kind = iota
	// Created is an object that was not there.
	Created
	// Adopted is an object that was nobody's.
	Adopted
	// TakenOver is an object that was another generator's.
	TakenOver
	// Deleted is an object that was ours and is not wanted any more.
	Deleted
)

// Change is what was done with one object.
type Change struct {
	object.Key
	// UID is that of the object, empty when it was not there before.
	UID  types.UID
	Kind Kind
	// Revised says that its status tells of another artifact than before.
	Revised bool
	// Artifact is what the object stands for, nil when it was deleted.
	Artifact *build.Artifact
}

// outcome sums up what was done.
func (r *run) outcome(result *reconciler.Result) *Outcome {
	out := &Outcome{
		Published: make(map[object.Key]string, len(r.told)),
		Left:      make(map[object.Key]bool, len(result.Inventory.Items)),
		Failed:    maps.Clone(r.failed),
	}
	if out.Failed == nil {
		out.Failed = map[object.Key]*fail.Error{}
	}
	for k, t := range r.told {
		out.Published[k] = t.version
	}
	for _, it := range result.Inventory.Items {
		out.Left[it.Key] = true
	}
	artifacts := make(map[object.Key]*build.Artifact, len(r.Artifacts))
	for i, a := range r.Artifacts {
		artifacts[draft.Key(a)] = &r.Artifacts[i]
	}
	for _, o := range result.Outcomes {
		if o.Err != nil && artifacts[o.Key] == nil {
			out.Failed[o.Key] = &fail.Error{Reason: v1beta1.ReasonPruneFailed, Err: o.Err}
		}
		t := r.told[o.Key]
		if o.Err == nil && (o.Verb.Writes() || t.changed) {
			out.Changes = append(out.Changes, Change{o.Key, o.Pre.UID, kindOf(o), t.revised, artifacts[o.Key]})
		}
	}
	return out
}

func kindOf(o plan.Outcome) Kind {
	switch {
	case o.Verb == plan.Delete:
		return Deleted
	case slices.Contains(o.Reasons, plan.TakenOver):
		return TakenOver
	case o.Verb == plan.Adopt:
		return Adopted
	case o.Verb == plan.Create:
		return Created
	default:
		return Updated
	}
}
