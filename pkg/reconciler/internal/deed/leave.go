package deed

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/pkg/reconciler/internal/field"
	"github.com/weir-dev/weir/pkg/reconciler/internal/share"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

func keyOf(u *unstructured.Unstructured) object.Key { return object.KeyOf(u) }

// Leave drops our fields from a shared object, and the labels of the family
// with the last owner.
func (d *Doer) Leave(ctx context.Context, u *unstructured.Unstructured, manager string) error {
	if entries, ok := field.Reclaim(u.GetManagedFields(), manager, d.Former); ok {
		stored, err := d.Write.Metadata(ctx, u, map[string]any{"managedFields": entries}, manager)
		if err != nil {
			return err
		}
		u = stored
	}
	if field.Applies(u, manager) {
		nothing := keyOf(u).Stub(u.GroupVersionKind().Version)
		stored, err := d.Write.Apply(ctx, nothing, u, manager, true)
		if err != nil {
			return err
		}
		u = stored
	}
	return d.strip(ctx, u, manager, map[string]any{})
}

// Release takes our marks off and leaves the object as it is.
func (d *Doer) Release(ctx context.Context, u *unstructured.Unstructured, manager string) error {
	patch := map[string]any{}
	if d.Shared != nil {
		// Under its name our entry would count as an owner to the others.
		entries, _ := field.Reclaim(u.GetManagedFields(), manager, d.Former)
		if entries, ok := field.Rename(entries, manager, d.Manager+"-released"); ok {
			patch["managedFields"] = entries
		}
		return d.strip(ctx, u, manager, patch)
	}
	ls, as := d.Stamp.Keys()
	if off := share.Without(u.GetLabels(), ls); len(off) > 0 {
		patch["labels"] = off
	}
	if off := share.Without(u.GetAnnotations(), as); len(off) > 0 {
		patch["annotations"] = off
	}
	if left := d.others(u); len(left) < len(u.GetFinalizers()) {
		patch["finalizers"] = left
	}
	return d.patch(ctx, u, patch)
}

// strip takes the signature off, and the labels of the family unless peers
// remain, together with other changes of metadata.
func (d *Doer) strip(ctx context.Context, u *unstructured.Unstructured, manager string, patch map[string]any) error {
	if !d.Peers(u, manager) {
		if off := share.Without(u.GetLabels(), d.Shared.Keys()); len(off) > 0 {
			patch["labels"] = off
		}
	}
	share.Unsign(u, d.Signature, patch)
	return d.patch(ctx, u, patch)
}

func (d *Doer) patch(ctx context.Context, u *unstructured.Unstructured, patch map[string]any) error {
	if len(patch) == 0 {
		return nil
	}
	_, err := d.Write.Metadata(ctx, u, patch, d.Manager)
	return err
}
