// Package objects is what the object reconciler is told of the targets of
// replications: by which policies it keeps each of them, when their content may
// be written, and how replications share them. Which targets there are is
// decided in package replicate.
package objects

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/budget"
	"github.com/weir-dev/weir/internal/condition"
	"github.com/weir-dev/weir/internal/protect/mark"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// Of returns what the reconciler is told of a target of the replication. The
// target must not change afterwards.
func Of(r mark.Replication, t *replicate.Target) reconciler.Object {
	o := reconciler.Object{
		Manifest: t.Manifest,
		Policy:   Policy(&t.Policy),
		Manager:  replicate.Manager(r.Namespace, r.Name, t.Key),
		Payload:  t.Payload(),
	}
	if t.Policy.Protect {
		o.Marks = map[string]string{v1beta2.LabelProtected: v1beta2.ValueProtected}
	}
	if t.Condition != nil || t.Seen != nil {
		o.Gate = gate{t.Condition, t.Seen}
	}
	return o
}

// Signature returns what the replication with that UID, for which the user
// writes, puts on its targets: a record of itself, and an owner reference if it
// can be an owner everywhere, which nothing in a namespace can.
func Signature(r mark.Replication, user string, uid types.UID) stamp.Signature {
	s := stamp.Signature{
		Key: r.Key(),
		Value: func(k object.Key) string {
			return r.Record(user, mark.Target(k.GroupKind(), k.Namespace, k.Name))
		},
	}
	if r.Namespace == "" {
		s.Parent = &metav1.OwnerReference{
			APIVersion: v1beta2.GroupVersion.String(), Kind: v1beta2.KindGlobalTenantResource, Name: r.Name, UID: uid,
		}
	}
	return s
}

// Policy returns a policy of replications in the words of the reconciler.
func Policy(p *v1beta2.Reconciled) policy.Policy {
	out := policy.Policy{
		Adoption: policy.AdoptNever, Update: policy.SsaMerge, Delete: policy.DeleteAlways, Conflict: policy.Fail,
	}
	if p.Creation == v1beta2.CreationMerge {
		out.Adoption = policy.AdoptIfUnowned
	}
	if p.Deletion == v1beta2.DeletionOrphan {
		out.Delete = policy.Orphan
	}
	if p.Force {
		out.Conflict = policy.Force
	}
	return out
}

// All returns what the reconciler is told of the targets.
func All(r mark.Replication, targets []replicate.Target) []reconciler.Object {
	out := make([]reconciler.Object, len(targets))
	for i := range targets {
		out[i] = Of(r, &targets[i])
	}
	return out
}

// gate is the condition of a target, and the version of it that its render
// depends on.
type gate struct {
	condition *condition.Condition
	seen      *string
}

// Open implements [reconciler.Gate].
func (g gate) Open(ctx context.Context, live *unstructured.Unstructured, now time.Time) (bool, string, error) {
	if g.condition != nil {
		if open, why, err := g.condition.Open(ctx, live, now); !open || err != nil {
			return open, why, err
		}
	}
	version := ""
	if live != nil {
		version = live.GetResourceVersion()
	}
	if g.seen != nil && *g.seen != version {
		return false, "", errors.New("the object changed since it was read for the context of its template")
	}
	return true, "", nil
}

// Refused returns the targets without those for which the reconciler did not
// take a request at all, and what is wrong with these.
func Refused(targets []replicate.Target, err error) ([]replicate.Target, []*replicate.Failure) {
	bad := map[object.Key]error{}
	collect(err, bad)
	var left []replicate.Target
	var failures []*replicate.Failure
	for i := range targets {
		if err := bad[targets[i].Key]; err != nil {
			failures = append(failures, targets[i].Fail(err))
		} else {
			left = append(left, targets[i])
		}
	}
	return left, failures
}

// Removals returns what a plan takes away: the objects that it deletes or lets go
// of, or that it would if it could. Objects that are gone, or on their way out,
// are not among them.
func Removals(p *plan.Plan, recorded inventory.Inventory) []budget.Removal {
	var out []budget.Removal
	for _, a := range p.Remove {
		if a.Verb == plan.Forget || a.Verb == plan.Finalize || slices.Contains(a.Reasons, plan.Terminating) {
			continue
		}
		r := budget.Removal{Key: a.Key, UID: a.Pre.UID}
		if it, ok := recorded.Find(a.Key); ok && r.UID == "" {
			r.UID = it.UID
		}
		out = append(out, r)
	}
	return out
}

func collect(err error, into map[object.Key]error) {
	if bad, ok := err.(*fault.Invalid); ok { //nolint:errorlint // the tree is walked by hand
		into[bad.Key] = bad
		return
	}
	switch u := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			collect(e, into)
		}
	case interface{ Unwrap() error }:
		collect(u.Unwrap(), into)
	}
}
