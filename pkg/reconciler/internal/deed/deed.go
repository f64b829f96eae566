// Package deed does to objects what was decided. It decides nothing and keeps
// no records.
package deed

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/internal/field"
	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/internal/look"
	"github.com/weir-dev/weir/pkg/reconciler/internal/share"
	"github.com/weir-dev/weir/pkg/reconciler/internal/write"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Doer writes for one owner in one pass.
type Doer struct {
	*look.Look

	Write write.Writer
}

// Create writes an absent object, after its namespace if that is missing.
func (d *Doer) Create(ctx context.Context, t *look.Target) (*unstructured.Unstructured, error) {
	if err := d.Places.Make(ctx, t.Want.Namespace, d.Manager); err != nil {
		return nil, err
	}
	if t.Applied {
		return d.Write.Apply(ctx, t.Body, nil, t.Manager, false)
	}
	return d.Write.Create(ctx, t.Body, t.Manager)
}

// Update writes an object that is there. The result is nil when it had to be
// deleted first and is not gone yet.
func (d *Doer) Update(ctx context.Context, t *look.Target) (*unstructured.Unstructured, error) {
	stored, err := d.send(ctx, t)
	if err == nil && d.Shared != nil {
		return d.unmark(ctx, t, stored)
	}
	// The server refuses the change. Would it take the object as a new one?
	if write.Classify(err) != write.Unprocessable || !write.Changeless(err) || d.try(ctx, t) != nil {
		return stored, err
	}
	if t.Want.Policy.Immutable == policy.RecreateObject {
		return d.swap(ctx, t)
	}
	return nil, &fault.Immutable{Key: t.Want.Key, Fields: write.Fields(err, ""), Err: err}
}

// send updates the object in place.
func (d *Doer) send(ctx context.Context, t *look.Target) (*unstructured.Unstructured, error) {
	if !t.Applied {
		return d.Write.Replace(ctx, t.Body, t.Live, t.Manager)
	}
	for _, before := range []func(*look.Target) map[string]any{d.stray, d.entries, d.wrong} {
		patch := before(t)
		if len(patch) == 0 {
			continue
		}
		patched, err := d.Write.Metadata(ctx, t.Live, patch, d.Manager)
		if err != nil {
			return nil, err
		}
		t.Live = patched
	}
	return d.Write.Apply(ctx, t.Body, t.Live, t.Manager, t.Want.Policy.Conflict != policy.Fail)
}

// entries returns a patch of metadata with the managed fields as they should be
// before an apply, empty when they are so.
func (d *Doer) entries(t *look.Target) map[string]any {
	from := d.Takes(t)
	entries := t.Live.GetManagedFields()
	inherited := false
	if t.Want.Heir != "" && d.Shared == nil && t.Facts.Live.Owner.Name == "" {
		entries, inherited = field.Bequeath(entries, t.Want.Heir, from)
	}
	entries, reclaimed := field.Reclaim(entries, t.Manager, from)
	if !inherited && !reclaimed {
		return nil
	}
	patch := map[string]any{"managedFields": entries}
	if labels := d.birthmark(t); len(labels) > 0 {
		patch["labels"] = labels
	}
	return patch
}

// birthmark returns the labels of an object that the family created, if they are
// missing and nothing but a former manager tells of it: its fields are not moved
// without them.
func (d *Doer) birthmark(t *look.Target) map[string]any {
	if s := t.Facts.Live.Share; !s.Former || s.Created || !t.Facts.Created() {
		return nil
	}
	labels := map[string]any{}
	for k := range d.Shared.Created {
		labels[k] = t.Body.GetLabels()[k]
	}
	return labels
}

// stray returns a patch of metadata that takes off what must be gone before the
// family joins the object.
func (d *Doer) stray(t *look.Target) map[string]any {
	if d.Shared == nil || d.Shared.Stray == nil {
		return nil
	}
	off := share.Without(t.Live.GetAnnotations(), d.Shared.Stray(t.Live))
	if len(off) == 0 {
		return nil
	}
	return map[string]any{"annotations": off}
}

// wrong returns a patch of metadata with the labels of the family, and the
// annotation of the owner, that others have given other values. They are ours
// whatever the policy says about conflicts.
func (d *Doer) wrong(t *look.Target) map[string]any {
	if d.Shared == nil || t.Want.Policy.Conflict != policy.Fail {
		return nil
	}
	patch, labels := map[string]any{}, map[string]any{}
	have, want := t.Live.GetLabels(), t.Body.GetLabels()
	for _, k := range d.Shared.Keys() {
		if v, ok := want[k]; ok && have[k] != v && have[k] != "" {
			labels[k] = v
		}
	}
	if len(labels) > 0 {
		patch["labels"] = labels
	}
	for k, v := range t.Terms.Note {
		is := t.Live.GetAnnotations()[k]
		if is != v && is != "" && len(field.Managers(t.Live.GetManagedFields(), ".metadata.annotations."+k, t.Manager)) > 0 {
			patch["annotations"] = map[string]any{k: v}
		}
	}
	return patch
}

// unmark takes off marks that nobody wants and that the apply did not drop,
// because another manager had set them, and the same of the signature.
func (d *Doer) unmark(ctx context.Context, t *look.Target, stored *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	patch := t.Terms.Right(stored, d.Peers(stored, t.Manager))
	if len(patch) == 0 {
		return stored, nil
	}
	return d.Write.Metadata(ctx, stored, patch, d.Manager)
}

// try returns an error if the server would not take the object as a new one.
func (d *Doer) try(ctx context.Context, t *look.Target) error {
	if err := d.Write.TryCreate(ctx, t.Body, t.Manager); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// Recreate deletes an object and writes it again, once a dry run has proved
// that the server would take it. The result is nil when the old object is not
// gone yet.
func (d *Doer) Recreate(ctx context.Context, t *look.Target) (*unstructured.Unstructured, error) {
	if err := d.try(ctx, t); err != nil {
		return nil, err
	}
	return d.swap(ctx, t)
}

func (d *Doer) swap(ctx context.Context, t *look.Target) (*unstructured.Unstructured, error) {
	if err := d.Write.Delete(ctx, t.Live); err != nil {
		return nil, err
	}
	left, err := live.Get(ctx, d.Client, t.Want.Key, t.Want.Version)
	if err != nil || left != nil {
		return nil, err
	}
	return d.Create(ctx, t)
}

// Restamp writes our metadata and no content.
func (d *Doer) Restamp(ctx context.Context, t *look.Target) (*unstructured.Unstructured, error) {
	if d.Shared != nil {
		return d.Write.Metadata(ctx, t.Live, t.Terms.Right(t.Live, t.Facts.Live.Share.Peers), d.Manager)
	}
	m := d.Stamp.Mark(d.Owner, t.Want.Digest)
	return d.Write.Metadata(ctx, t.Live, map[string]any{"labels": m.Labels, "annotations": m.Annotations}, t.Manager)
}

// Finalize takes our finalizer off.
func (d *Doer) Finalize(ctx context.Context, u *unstructured.Unstructured) error {
	_, err := d.Write.Metadata(ctx, u, map[string]any{"finalizers": d.others(u)}, d.Manager)
	return err
}

// others returns the finalizers that are not ours.
func (d *Doer) others(u *unstructured.Unstructured) []string {
	left := []string{}
	for _, f := range u.GetFinalizers() {
		if f != d.Finalizer {
			left = append(left, f)
		}
	}
	return left
}

// Destroy deletes an object and reports whether it is gone.
func (d *Doer) Destroy(ctx context.Context, u *unstructured.Unstructured) (bool, error) {
	if err := d.Write.Delete(ctx, u); err != nil {
		return false, err
	}
	left, err := d.again(ctx, u)
	if err == nil && left != nil && slices.Contains(left.GetFinalizers(), d.Finalizer) {
		if err := d.Finalize(ctx, left); err != nil {
			return false, nil //nolint:nilerr // the delete is done; the next pass takes the finalizer off
		}
		left, err = d.again(ctx, u)
	}
	if err != nil {
		return false, nil //nolint:nilerr // the delete is done; the next pass looks whether it has worked
	}
	return left == nil, nil
}

// again returns the object as it is now, nil if that incarnation is gone.
func (d *Doer) again(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	left, err := live.Get(ctx, d.Client, keyOf(u), u.GroupVersionKind().Version)
	switch {
	case errors.Is(err, live.ErrUntyped):
		return nil, nil
	case err != nil || left == nil || left.GetUID() != u.GetUID():
		return nil, err
	}
	return left, nil
}
