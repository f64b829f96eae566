package reconciler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Recover rebuilds a lost inventory from the stamps of objects of the given
// kinds and commits it together with what the store still has. Items that are
// recovered are orphaned in the end unless their own annotation says otherwise.
// Objects that share owners have no stamp and are not recovered.
func (r *Reconciler) Recover(ctx context.Context, q Request, kinds []schema.GroupVersionKind) (inventory.Inventory, error) {
	in, err := r.input(ctx, q, false)
	if err != nil || r.config.Style.Shared != nil {
		return in.Base, err
	}
	items := in.Base.Items
	for _, gvk := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := in.Client.List(ctx, list, client.MatchingLabelsSelector{Selector: r.config.Style.Stamp.Selector(q.Owner.ID)})
		if err != nil && !meta.IsNoMatchError(err) {
			return in.Base, fmt.Errorf("listing %s: %w", gvk.GroupKind(), err)
		}
		for i := range list.Items {
			if it, ok := r.recovered(&list.Items[i]); ok {
				if _, known := in.Base.Find(it.Key); !known {
					items = append(items, it)
				}
			}
		}
	}
	next := inventory.New(in.Base.Version, items)
	if len(next.Items) == len(in.Base.Items) {
		return in.Base, nil
	}
	next.Version, err = q.Store.Commit(ctx, q.Owner.ID, inventory.Change{Base: in.Base, Next: next, Ahead: true})
	return next, err
}

// recovered returns the item of a stamped object. It is not known to have been
// written, so an apply compares it anew.
func (r *Reconciler) recovered(u *unstructured.Unstructured) (inventory.Item, bool) {
	asked, err := policy.Read(r.rules.Name, u.GetAnnotations())
	if err != nil {
		asked = policy.Policy{}
	}
	it := inventory.Item{
		Key: object.KeyOf(u), Version: u.GroupVersionKind().Version, State: inventory.Intended,
		Policy: asked.Or(policy.Policy{Delete: policy.Orphan}).Or(r.rules.Defaults),
	}
	if group, ok, _ := unstructured.NestedString(u.Object, "spec", "group"); ok && it.DefinesTypes() {
		kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
		if it.GroupKind() == object.APIService {
			kind = "*"
		}
		it.Types = []policy.Type{{Group: group, Kind: kind}}
	}
	return it, u.GetDeletionTimestamp() == nil
}

// IsDeletionAllowed reports whether the set can be deleted: it cannot while
// objects of kinds that the set defines belong to others. The string names one
// of them.
func (r *Reconciler) IsDeletionAllowed(ctx context.Context, q Request) (bool, string, error) {
	in, err := r.input(ctx, q, false)
	if err != nil {
		return false, "", err
	}
	types := append([]policy.Type(nil), r.managed...)
	for _, it := range in.Base.Items {
		if !it.Policy.Delete.Keeps(true) {
			types = append(types, it.Types...)
		}
	}
	for _, t := range types {
		n, err := live.Typed(ctx, in.Client, t, r.config.Style.Stamp.Foreign(q.Owner.ID))
		if err != nil {
			return false, "", err
		}
		if n.N > 0 {
			return false, fmt.Sprintf("%d object(s) of kinds of the set belong to others, such as %s", n.N, n.Name), nil
		}
	}
	return true, "", nil
}
