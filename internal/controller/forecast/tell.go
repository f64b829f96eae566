package forecast

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/budget"
	"github.com/weir-dev/weir/internal/controller/objects"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/internal/view"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// tell puts the plan of the object reconciler into the words of replications:
// first what is wanted, then what leaves, each sorted.
func (j *job) tell(p *plan.Plan) {
	planned := map[object.Key]bool{}
	var wanted, leaving []view.Step
	for _, a := range p.Apply {
		planned[a.Key] = true
		wanted = append(wanted, j.applied(&a))
	}
	for _, f := range j.failures {
		switch {
		case f.Key.Name == "":
			j.out.Errors = append(j.out.Errors, f.Error())
		case !planned[f.Key]:
			planned[f.Key] = true
			s := step(view.Fail, f.Key, f.Version)
			s.Tenant, s.Origin, s.Why = f.Destination.TenantName(), f.Origin, f.Err.Error()
			wanted = append(wanted, s)
		}
	}
	for _, a := range p.Remove {
		planned[a.Key] = true
		it, _ := j.recorded.Find(a.Key)
		leaving = append(leaving, from(removed(&a), &it))
	}
	for i := range j.recorded.Items {
		it := &j.recorded.Items[i]
		if f := replicate.Holds(j.failures, it); f != nil && !planned[it.Key] {
			s := step(view.Keep, it.Key, it.Version)
			s.Why = "stays as it is, for it may be what failed: " + f.Error()
			leaving = append(leaving, from(s, it))
		}
	}
	j.prune(p)
	for _, list := range [][]view.Step{wanted, leaving} {
		slices.SortStableFunc(list, compare)
		for _, s := range list {
			j.out.Add(s)
		}
	}
}

// prune tells what is taken away in all, and whether the budget allows it.
func (j *job) prune(p *plan.Plan) {
	removals := objects.Removals(p, j.recorded)
	if len(removals) == 0 {
		return
	}
	j.out.Prune = &view.Prune{Digest: budget.Digest(removals), Objects: len(removals), Wanted: len(p.Apply)}
	if err := budget.Judge(j.Object.GetAnnotations(), removals, len(p.Apply)); err != nil {
		j.out.Prune.Blocked = err.Error()
	}
}

func compare(a, b view.Step) int {
	return cmp.Or(
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Group, b.Group))
}

func step(a view.Action, k object.Key, version string) view.Step {
	return view.Step{Action: a, Group: k.Group, Version: version, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
}

func from(s view.Step, it *inventory.Item) view.Step {
	s.Tenant, s.Origin = replicate.TenantOf(it), replicate.OriginOf(it)
	return s
}

// applied is the step of an object that is wanted.
func (j *job) applied(a *plan.Action) view.Step {
	s := step(verbs[a.Verb], a.Key, a.Version)
	s.Reasons, s.Why = codes(a.Reasons), words(a)
	if a.Verb == plan.Refuse {
		s.Action = view.Fail
		if slices.Contains(a.Reasons, plan.OwnerConflict) || slices.Contains(a.Reasons, plan.FieldConflict) {
			s.Action = view.Conflict
		}
	}
	if i, ok := slices.BinarySearchFunc(j.targets, a.Key, func(t replicate.Target, k object.Key) int { return t.Compare(k) }); ok {
		s.Tenant, s.Origin = j.targets[i].Tenant, j.targets[i].Origin
	}
	return s
}

// removed is the step of an object that is wanted no longer.
func removed(a *plan.Action) view.Step {
	s := step(verbs[a.Verb], a.Key, a.Version)
	s.Reasons, s.Why = codes(a.Reasons), words(a)
	switch {
	case a.Verb == plan.Refuse:
		s.Action = view.Fail
	case a.Verb == plan.Leave && !slices.Contains(a.Reasons, plan.Shared):
		s.Why += ", it was adopted: only what the replication applied goes"
	}
	return s
}

// verbs are the actions of what the object reconciler does.
var verbs = map[plan.Verb]view.Action{
	plan.None: view.Unchanged, plan.Create: view.Create, plan.Adopt: view.Adopt, plan.Update: view.Update,
	plan.Recreate: view.Update, plan.Restamp: view.Update, plan.Delete: view.Remove, plan.Finalize: view.Update,
	plan.Release: view.Release, plan.Leave: view.Release, plan.Forget: view.Forget, plan.Wait: view.Wait,
	plan.Skip: view.Skip, plan.Refuse: view.Fail,
}

// phrases say the reasons that need saying in other words than their codes.
var phrases = map[plan.Reason]string{
	plan.NotFound:             "is not there",
	plan.DigestChanged:        "what is wanted has changed",
	plan.FieldsDrifted:        "others have changed it",
	plan.OwnershipLost:        "others manage its fields now",
	plan.StampLost:            "its marks were removed",
	plan.UIDChanged:           "others have made it anew",
	plan.NotRecorded:          "its last write is not recorded",
	plan.Unowned:              "exists, and no replication has it",
	plan.Shared:               "other replications have it too",
	plan.ConditionFalse:       "its condition is false",
	plan.HandedOver:           "left alone",
	plan.KeptByPolicy:         "stays by its policy Orphan",
	plan.NamespaceMissing:     "its namespace does not exist",
	plan.NamespaceTerminating: "its namespace is going away",
	plan.Terminating:          "is being deleted",
	plan.TypeUnknown:          "the API server does not know its kind",
	plan.NotInSet:             "no longer wanted",
	plan.SetDeleted:           "the replication is deleted",
	plan.MarkChanged:          "its marks are to change",
	plan.OwnerConflict:        "not ours any more",
}

// words says to people why an action is taken.
func words(a *plan.Action) string {
	switch {
	case a.Verb == plan.Refuse && slices.Contains(a.Reasons, plan.OwnerConflict):
		return "exists, and no replication made it: only creation Merge adopts it"
	case a.Verb == plan.Refuse:
		return strings.TrimPrefix(a.Message, a.String()+": ")
	}
	var out []string
	for _, r := range a.Reasons {
		out = append(out, cmp.Or(phrases[r], string(r)))
	}
	if a.Message != "" {
		out = append(out, a.Message)
	}
	return strings.Join(out, ", ")
}

func codes(reasons []plan.Reason) []string {
	var out []string
	for _, r := range reasons {
		out = append(out, string(r))
	}
	return out
}
