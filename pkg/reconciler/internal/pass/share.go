package pass

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/weir-dev/weir/pkg/reconciler/internal/field"
)

// peers reports whether owners of the family other than the manager are on the
// object.
func (p *pass) peers(u *unstructured.Unstructured, manager string) bool {
	for _, e := range u.GetManagedFields() {
		if e.Manager != manager && e.Subresource == "" && p.Shared.Peer(e.Manager) {
			return true
		}
	}
	return false
}

// marked reports whether the marks are as this owner wants them. A mark that
// it does not want may stand for a peer.
func (p *pass) marked(u *unstructured.Unstructured, want map[string]string, peers bool) bool {
	have := u.GetLabels()
	for _, k := range p.Shared.Marks {
		v, wanted := want[k]
		is, there := have[k]
		if wanted && is != v || !wanted && there && !peers {
			return false
		}
	}
	return true
}

// marks returns a patch of labels that makes the marks right.
func (p *pass) marks(t *target) map[string]any {
	patch := map[string]any{}
	have := t.live.GetLabels()
	for _, k := range p.Shared.Marks {
		if v, ok := t.want.Marks[k]; ok {
			patch[k] = v
		} else if _, there := have[k]; there && !t.facts.Live.Share.Peers {
			patch[k] = nil
		}
	}
	return patch
}

// unmark takes off marks that nobody wants and that the apply did not drop,
// because another manager had set them.
func (p *pass) unmark(ctx context.Context, t *target, stored *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if p.marked(stored, t.want.Marks, p.peers(stored, t.manager)) {
		return stored, nil
	}
	t.live = stored
	return p.write.Metadata(ctx, stored, map[string]any{"labels": p.marks(t)}, p.Manager)
}

// leave drops our fields from a shared object, and the labels of the family
// with the last owner.
func (p *pass) leave(ctx context.Context, u *unstructured.Unstructured, manager string) error {
	if field.Applies(u, manager) {
		stub := &unstructured.Unstructured{}
		stub.SetGroupVersionKind(u.GroupVersionKind())
		stub.SetNamespace(u.GetNamespace())
		stub.SetName(u.GetName())
		stored, err := p.write.Apply(ctx, stub, u, manager, true)
		if err != nil {
			return err
		}
		u = stored
	}
	return p.strip(ctx, u, manager, nil)
}

// strip takes the labels of the family off unless peers remain, together with
// other changes of metadata.
func (p *pass) strip(ctx context.Context, u *unstructured.Unstructured, manager string, patch map[string]any) error {
	if patch == nil {
		patch = map[string]any{}
	}
	if !p.peers(u, manager) {
		if off := present(u.GetLabels(), p.Shared.Keys()); len(off) > 0 {
			patch["labels"] = off
		}
	}
	if len(patch) == 0 {
		return nil
	}
	_, err := p.write.Metadata(ctx, u, patch, p.Manager)
	return err
}

// present returns a patch that removes those of the keys that are there.
func present(have map[string]string, keys []string) map[string]any {
	off := map[string]any{}
	for _, k := range keys {
		if _, ok := have[k]; ok {
			off[k] = nil
		}
	}
	return off
}

// release takes our marks off and leaves the object as it is.
func (p *pass) release(ctx context.Context, u *unstructured.Unstructured, manager string) error {
	if p.Shared != nil {
		patch := map[string]any{}
		// Under its name our entry would count as an owner to the others.
		if entries, ok := field.Rename(u.GetManagedFields(), manager, p.Manager+"-released"); ok {
			patch["managedFields"] = entries
		}
		return p.strip(ctx, u, manager, patch)
	}
	ls, as := p.Stamp.Keys()
	patch := map[string]any{}
	if off := present(u.GetLabels(), ls); len(off) > 0 {
		patch["labels"] = off
	}
	if off := present(u.GetAnnotations(), as); len(off) > 0 {
		patch["annotations"] = off
	}
	if fs := u.GetFinalizers(); slices.Contains(fs, p.Finalizer) {
		patch["finalizers"] = append([]string{}, slices.DeleteFunc(fs, func(f string) bool { return f == p.Finalizer })...)
	}
	if len(patch) == 0 {
		return nil
	}
	_, err := p.write.Metadata(ctx, u, patch, p.Manager)
	return err
}

// selector selects the objects of the owner, or of the family.
func (p *pass) selector() labels.Selector {
	if p.Shared == nil {
		return p.Stamp.Selector(p.Owner)
	}
	sel := labels.NewSelector()
	for k := range p.Shared.Managed {
		r, err := labels.NewRequirement(k, selection.Exists, nil)
		if err == nil {
			sel = sel.Add(*r)
		}
	}
	return sel
}
