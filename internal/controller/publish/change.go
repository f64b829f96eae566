package publish

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/controller/space"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
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
	// Left is an object that is not wanted any more and stays as it is.
	Left
)

// Change is what was done with one object.
type Change struct {
	object.Key
	// UID and Version are those of the object as it was found, empty when it was
	// not there before.
	UID     types.UID
	Version string
	Kind    Kind
	// Revised says that its status tells of another artifact than before.
	Revised bool
	// Artifact is what the object stands for, nil when it was deleted or is a
	// namespace.
	Artifact *build.Artifact
	// Why says for people why an object was left.
	Why string
}

// see notes what is there.
func (r *run) see(result *reconciler.Result, out *Outcome) {
	for k, t := range r.told {
		out.Published[k], out.Seen[k] = t.version, t.version
	}
	wanted := make(map[object.Key]bool, len(r.Namespaces))
	for _, n := range r.Namespaces {
		wanted[space.KeyOf(n.Name)] = true
	}
	outcomes := make(map[object.Key]plan.Outcome, len(result.Outcomes))
	for _, o := range result.Outcomes {
		outcomes[o.Key] = o
	}
	for _, it := range result.Inventory.Items {
		out.Left[it.Key] = true
		version := outcomes[it.Key].Pre.ResourceVersion
		if outcomes[it.Key].Verb.Writes() {
			version = it.ResourceVersion
		}
		switch {
		case it.State == inventory.Leaving:
			out.Seen[it.Key] = ""
		case it.State.Written() && it.IsNamespace():
			out.Seen[it.Key] = version
		}
		if wanted[it.Key] && r.failed[it.Key] == nil {
			out.Published[it.Key] = version
		}
	}
}

// outcome sums up what was done.
func (r *run) outcome(result *reconciler.Result) *Outcome {
	out := &Outcome{
		Published: make(map[object.Key]string, len(r.told)),
		Seen:      make(map[object.Key]string, len(r.told)),
		Left:      make(map[object.Key]bool, len(result.Inventory.Items)),
		Failed:    maps.Clone(r.failed),
	}
	if out.Failed == nil {
		out.Failed = map[object.Key]*fail.Error{}
	}
	r.see(result, out)
	artifacts := make(map[object.Key]*build.Artifact, len(r.Artifacts))
	for i, a := range r.Artifacts {
		artifacts[draft.Key(a)] = &r.Artifacts[i]
	}
	for _, o := range result.Outcomes {
		t := r.told[o.Key]
		left := slices.Contains(o.Reasons, plan.HandedOver)
		if o.Err == nil && (o.Verb.Writes() || t.changed || left) {
			out.Changes = append(out.Changes, Change{
				Key: o.Key, UID: o.Pre.UID, Version: o.Pre.ResourceVersion, Kind: kindOf(o),
				Revised: t.revised, Artifact: artifacts[o.Key], Why: o.Message,
			})
		}
	}
	return out
}

func kindOf(o plan.Outcome) Kind {
	switch {
	case o.Verb == plan.Forget:
		return Left
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
