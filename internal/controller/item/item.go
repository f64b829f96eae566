// Package item tells what became of the targets of a replication, as its status
// shows it: one item for each target, how many failed, and what is news. It is
// pure.
package item

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// maxMessage is the longest message of an item, in bytes.
const maxMessage = 4 << 10

// Pass is what is known after a pass.
type Pass struct {
	// Targets are those that were wanted.
	Targets []replicate.Target
	// Failures are the renders and targets that could not be used.
	Failures []*replicate.Failure
	// Outcomes and Inventory are those of the object reconciler.
	Outcomes  []plan.Outcome
	Inventory inventory.Inventory
	// Before are the items of the status before the pass.
	Before []v1beta2.ProcessedItem
}

// Report is what status shows of a pass.
type Report struct {
	Items []v1beta2.ProcessedItem
	// Applying and Pruning are the failures of targets that were to be applied
	// and removed, in the order of the items.
	Applying, Pruning []error
}

// Of returns the report of a pass. Items are sorted.
func Of(p Pass) Report {
	b := builder{
		Pass: p, outcomes: map[object.Key]*plan.Outcome{}, targets: map[object.Key]*replicate.Target{},
		before: map[object.Key]*v1beta2.ProcessedItem{}, failed: map[object.Key]*replicate.Failure{},
	}
	b.index()
	for i := range p.Inventory.Items {
		b.recorded(&p.Inventory.Items[i])
	}
	for _, f := range p.Failures {
		if _, ok := p.Inventory.Find(f.Key); !ok && f.Key.Name != "" && b.failed[f.Key] == f {
			b.never(f)
		}
	}
	Sort(b.report.Items)
	return b.report
}

type builder struct {
	Pass
	outcomes map[object.Key]*plan.Outcome
	targets  map[object.Key]*replicate.Target
	before   map[object.Key]*v1beta2.ProcessedItem
	failed   map[object.Key]*replicate.Failure
	report   Report
}

func (b *builder) index() {
	for i := range b.Outcomes {
		b.outcomes[b.Outcomes[i].Key] = &b.Outcomes[i]
	}
	for i := range b.Targets {
		b.targets[b.Targets[i].Key] = &b.Targets[i]
	}
	for i := range b.Before {
		b.before[KeyOf(&b.Before[i])] = &b.Before[i]
	}
	for _, f := range b.Failures {
		if b.failed[f.Key] == nil {
			b.failed[f.Key] = f
		}
	}
}

// KeyOf returns the key of the target of an item.
func KeyOf(it *v1beta2.ProcessedItem) object.Key {
	return object.Key{Group: it.Group, Kind: it.Kind, Namespace: it.Namespace, Name: it.Name}
}

// recorded adds the item of a target that the inventory has.
func (b *builder) recorded(it *inventory.Item) {
	p := shell(it.Key, it.Version)
	p.Tenant, p.Origin = replicate.TenantOf(it), replicate.OriginOf(it)
	if it.State.Written() {
		p.Status.Created = it.Created
		if !it.At.IsZero() {
			p.Status.LastApply = &it.At
		}
	}
	if was := b.before[it.Key]; was != nil {
		p.Status.Policy = was.Status.Policy
	}
	switch o, t := b.outcomes[it.Key], b.targets[it.Key]; {
	case t != nil && o != nil:
		b.applied(&p, it, o, t)
	case o != nil:
		b.leaving(&p, o)
	default:
		b.held(&p, it)
	}
	b.report.Items = append(b.report.Items, p)
}

// shell returns an item that is well.
func shell(k object.Key, version string) v1beta2.ProcessedItem {
	return v1beta2.ProcessedItem{
		Group: k.Group, Version: version, Kind: k.Kind, Name: k.Name, Namespace: k.Namespace,
		Status: v1beta2.ItemStatus{Type: v1beta2.ConditionReady, Status: metav1.ConditionTrue, ClusterScoped: k.Namespace == ""},
	}
}

// applied tells what became of a target that was wanted.
func (b *builder) applied(p *v1beta2.ProcessedItem, it *inventory.Item, o *plan.Outcome, t *replicate.Target) {
	switch {
	case o.Err != nil:
		b.fail(p, fmt.Errorf("apply failed for item %s: %w", p.Origin, explained(o, t)), &b.report.Applying)
		if p.Status.Policy == nil && it.State.Written() {
			p.Status.Policy = &t.Policy // the content is there, and is cleaned up by it
		}
		return
	case o.Verb == plan.Wait:
		b.fail(p, fmt.Errorf("apply failed for item %s: waiting: %s", p.Origin, words(o)), &b.report.Applying)
		return
	case o.Verb == plan.Skip || o.Verb == plan.Restamp:
		p.Status.Message = v1beta2.MessageSkipped
		if !it.State.Written() || o.Pre.Absent || it.UID != o.Pre.UID {
			// What is there, if anything, is not ours.
			p.Status.Created, p.Status.LastApply, p.Status.Policy = false, nil, nil
			return
		}
	}
	p.Status.Policy = &t.Policy
}

// explained returns an error of the object reconciler in the words of
// replications.
func explained(o *plan.Outcome, t *replicate.Target) error {
	var owner *fault.OwnerConflict
	switch {
	case errors.As(o.Err, &owner):
		return fmt.Errorf("object %s/%s %s exists and cannot be adopted", t.Manifest.GetAPIVersion(), o.Kind, path(o.Key))
	case slices.Contains(o.Reasons, plan.GateFailed):
		return o.Err
	case slices.Contains(o.Reasons, plan.FieldConflict):
		return fmt.Errorf("applying object failed: conflict: %w", o.Err)
	}
	return fmt.Errorf("applying object failed: %w", o.Err)
}

func path(k object.Key) string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

func words(o *plan.Outcome) string {
	out := make([]string, len(o.Reasons))
	for i, r := range o.Reasons {
		out[i] = string(r)
	}
	return strings.Join(out, ", ")
}

// leaving tells what became of a target that is no longer wanted.
func (b *builder) leaving(p *v1beta2.ProcessedItem, o *plan.Outcome) {
	what := "pruning"
	switch o.Verb {
	case plan.Release:
		what = "orphaning"
	case plan.Leave:
		what = "disowning"
	default:
	}
	if o.Err != nil {
		b.fail(p, fmt.Errorf("%s failed for item: %w", what, o.Err), &b.report.Pruning)
		return
	}
	p.Status.Status = metav1.ConditionUnknown
	p.Status.Message = "waiting until the object is gone: " + words(o)
}

// held tells of a target that stays as it is because its render failed.
func (b *builder) held(p *v1beta2.ProcessedItem, it *inventory.Item) {
	if f := b.failed[it.Key]; f != nil {
		b.fail(p, f.Err, &b.report.Applying)
		return
	}
	if f := replicate.Holds(b.Failures, it); f != nil {
		p.Status.Status = metav1.ConditionFalse
		p.Status.Message = bounded(fmt.Sprintf("apply failed for item %s: %v", p.Origin, f))
	}
}

// never adds the item of a target that was never recorded.
func (b *builder) never(f *replicate.Failure) {
	p := shell(f.Key, f.Version)
	p.Tenant, p.Origin = f.Destination.TenantName(), f.Origin
	b.fail(&p, f.Err, &b.report.Applying)
	b.report.Items = append(b.report.Items, p)
}

func (b *builder) fail(p *v1beta2.ProcessedItem, err error, list *[]error) {
	p.Status.Status, p.Status.Message = metav1.ConditionFalse, bounded(err.Error())
	*list = append(*list, fmt.Errorf("%s %s: %w", p.Kind, path(KeyOf(p)), err))
}

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "…"
}

// Sort sorts items as a status has them.
func Sort(items []v1beta2.ProcessedItem) { slices.SortFunc(items, compare) }

func compare(x, y v1beta2.ProcessedItem) int {
	return cmp.Or(
		strings.Compare(x.Tenant, y.Tenant), strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Kind, y.Kind),
		strings.Compare(x.Name, y.Name), strings.Compare(x.Group, y.Group), strings.Compare(x.Origin, y.Origin))
}
