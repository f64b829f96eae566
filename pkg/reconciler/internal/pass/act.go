package pass

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/internal/field"
	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/internal/write"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// act does what was decided for an object of the set and returns the outcome
// with the new item.
func (p *pass) act(ctx context.Context, t *target, d done) (done, error) {
	var stored *unstructured.Unstructured
	var err error
	switch d.Verb {
	case plan.Create:
		stored, err = p.create(ctx, t)
	case plan.Adopt, plan.Update:
		stored, err = p.update(ctx, t)
	case plan.Recreate:
		stored, err = p.recreate(ctx, t)
	case plan.Restamp:
		stored, err = p.restamp(ctx, t)
		if err == nil && p.Shared != nil {
			d.Health = t.facts.Live.Health
			d.item = p.sighted(t, stored, d.item)
			return d, nil
		}
	case plan.Purge:
		return p.purgeOne(ctx, t, d)
	case plan.Finalize:
		return d, p.fault(t, p.finalize(ctx, t.live))
	default:
		return d, fmt.Errorf("%s: verb %s is not for objects of the set", t.want.Key, d.Verb)
	}
	if err != nil {
		return d, p.fault(t, err)
	}
	if stored == nil { // deleted, and not gone yet
		d.Health = health.Terminating
		return d, nil
	}
	created := d.Verb == plan.Create || d.Verb == plan.Recreate
	d.item = p.written(t, stored, d.item, created)
	d.item.Takeovers = takeovers(t, d)
	s, message := p.Health.Analyze(stored, t.want.Policy.Hints)
	d.Health, d.Message = s, message
	if s == health.Failed {
		d.Err = &fault.Unhealthy{Key: t.want.Key, Message: message}
		d.Reasons = append(d.Reasons, plan.Unhealthy)
	}
	return d, nil
}

// takeovers counts on while the manifest stays the same.
func takeovers(t *target, d done) int {
	switch {
	case d.has(plan.TakenOver):
		if t.facts.Item.Digest == t.want.Digest {
			return t.facts.Item.Takeovers + 1
		}
		return 1
	case d.Verb == plan.Update || d.Verb == plan.Restamp:
		return t.facts.Item.Takeovers
	}
	return 0
}

func (d done) has(r plan.Reason) bool {
	for _, x := range d.Reasons {
		if x == r {
			return true
		}
	}
	return false
}

// written returns the item of an object whose content was written as stored.
func (p *pass) written(t *target, stored *unstructured.Unstructured, it inventory.Item, created bool) inventory.Item {
	if t.facts.Item.UID != stored.GetUID() {
		it.Created = created || p.Shared != nil && p.Shared.IsCreated(stored)
	}
	it.UID, it.Digest, it.State = stored.GetUID(), t.want.Digest, inventory.Applied
	it.At = metav1.NewTime(p.now.Truncate(1e9))
	it.Owned = field.Owned(t.body, stored, t.manager, t.applied)
	return p.sighted(t, stored, it)
}

func (p *pass) create(ctx context.Context, t *target) (*unstructured.Unstructured, error) {
	if err := p.places.Make(ctx, t.want.Namespace, p.Manager); err != nil {
		return nil, err
	}
	if t.applied {
		return p.write.Apply(ctx, t.body, nil, t.manager, false)
	}
	return p.write.Create(ctx, t.body, t.manager)
}

func (p *pass) update(ctx context.Context, t *target) (*unstructured.Unstructured, error) {
	stored, err := p.send(ctx, t)
	if err == nil && p.Shared != nil {
		return p.unmark(ctx, t, stored)
	}
	if write.Classify(err) != write.Unprocessable || !write.Changeless(err) {
		return stored, err
	}
	// The server refuses the change. Would it take the object as a new one?
	if !p.acceptable(ctx, t) {
		return nil, err
	}
	if t.want.Policy.Immutable == policy.RecreateObject {
		return p.replace1(ctx, t)
	}
	return nil, &fault.Immutable{Key: t.want.Key, Fields: write.Fields(err, ""), Err: err}
}

// send updates the object in place.
func (p *pass) send(ctx context.Context, t *target) (*unstructured.Unstructured, error) {
	if !t.applied {
		return p.write.Replace(ctx, t.body, t.live, t.manager)
	}
	from := p.Reclaim
	if t.facts.Policy.Update != policy.SsaOverride {
		from = nil
	}
	if entries, ok := field.Reclaim(t.live.GetManagedFields(), t.manager, from); ok {
		patched, err := p.write.Metadata(ctx, t.live, map[string]any{"managedFields": entries}, t.manager)
		if err != nil {
			return nil, err
		}
		t.live = patched
	}
	return p.write.Apply(ctx, t.body, t.live, t.manager, t.want.Policy.Conflict != policy.Fail)
}

// acceptable reports whether the server would take the object if it were new.
func (p *pass) acceptable(ctx context.Context, t *target) bool {
	err := p.write.TryCreate(ctx, t.body, t.manager)
	return err == nil || apierrors.IsAlreadyExists(err)
}

func (p *pass) recreate(ctx context.Context, t *target) (*unstructured.Unstructured, error) {
	if err := p.write.TryCreate(ctx, t.body, t.manager); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	return p.replace1(ctx, t)
}

// replace1 deletes the object and creates it again if it is gone at once. The
// result is nil when it is not.
func (p *pass) replace1(ctx context.Context, t *target) (*unstructured.Unstructured, error) {
	if err := p.write.Delete(ctx, t.live); err != nil {
		return nil, err
	}
	left, err := live.Get(ctx, p.Client, t.want.Key, t.want.Version)
	if err != nil || left != nil {
		return nil, err
	}
	return p.create(ctx, t)
}

// restamp writes our metadata and no content.
func (p *pass) restamp(ctx context.Context, t *target) (*unstructured.Unstructured, error) {
	if p.Shared != nil {
		return p.write.Metadata(ctx, t.live, map[string]any{"labels": p.marks(t)}, p.Manager)
	}
	m := p.Stamp.Mark(p.Owner, t.want.Digest)
	return p.write.Metadata(ctx, t.live, map[string]any{"labels": m.Labels, "annotations": m.Annotations}, t.manager)
}

// finalize takes our finalizer off.
func (p *pass) finalize(ctx context.Context, u *unstructured.Unstructured) error {
	left := []string{}
	for _, f := range u.GetFinalizers() {
		if f != p.Finalizer {
			left = append(left, f)
		}
	}
	_, err := p.write.Metadata(ctx, u, map[string]any{"finalizers": left}, p.Manager)
	return err
}

func (p *pass) purgeOne(ctx context.Context, t *target, d done) (done, error) {
	gone, err := p.destroy(ctx, t.live)
	if err != nil {
		return d, p.fault(t, err)
	}
	d.Health = health.Terminating
	if gone {
		d.item.State, d.item.UID, d.item.ResourceVersion = inventory.Purged, "", ""
		p.memory.drop(d.Key)
		d.Health = health.Current
	}
	return d, nil
}

// fault turns an error of a write into one that callers can tell apart.
func (p *pass) fault(t *target, err error) error {
	if err == nil {
		return nil
	}
	switch write.Classify(err) {
	case write.Stale:
		return &fault.Stale{Key: t.want.Key}
	case write.Taken:
		e := &fault.FieldConflict{Key: t.want.Key}
		for _, path := range write.Fields(err, metav1.CauseTypeFieldManagerConflict) {
			e.Fields = append(e.Fields, fault.Field{Path: path, Managers: field.Managers(t.live.GetManagedFields(), path, t.manager)})
		}
		return e
	}
	var known *fault.Immutable
	if as(err, &known) {
		return err
	}
	return fmt.Errorf("writing %s: %w", t.want.Key, err)
}

// reason returns the code of an error.
func reason(err error) plan.Reason {
	var (
		stale     *fault.Stale
		conflict  *fault.FieldConflict
		immutable *fault.Immutable
	)
	switch {
	case as(err, &stale):
		return plan.Stale
	case as(err, &conflict):
		return plan.FieldConflict
	case as(err, &immutable):
		return plan.ImmutableField
	}
	switch write.Classify(err) {
	case write.Leaving:
		return plan.NamespaceTerminating
	case write.Unprocessable:
		return plan.Invalid
	case write.Denied:
		return plan.Unauthorized
	case write.Untyped:
		return plan.TypeUnknown
	}
	return plan.Failed
}
