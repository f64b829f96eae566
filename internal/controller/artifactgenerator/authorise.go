package artifactgenerator

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/access"
	"github.com/weir-dev/weir/internal/budget"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/controller/space"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/namespace"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// maxAgain is the longest time until a denial is looked at again.
const maxAgain = time.Minute

// authorise withholds what the account of the generator may not do: a namespace
// in which it may not do all that is to be done there sees no write at all. Of
// what is left to prune all stays if it is more than the budget of the generator.
func (r *run) authorise(ctx context.Context) error {
	uses := map[string]access.Use{}
	for _, a := range r.draft.Publish {
		add(uses, a.Namespace, access.Use{Publish: true})
	}
	for _, n := range r.draft.Manage {
		add(uses, n.Name, access.Use{Manage: true, Delete: r.prunes()})
	}
	strays, err := r.strays(ctx)
	if err != nil {
		return err
	}
	for _, e := range r.draft.Prune {
		r.leave(uses, draft.KeyOf(e))
	}
	for _, k := range strays {
		r.leave(uses, k)
	}
	denied := r.desk().Check(ctx, r.authority(), uses)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	r.draft.Withhold(func(k object.Key) *fail.Error { return reasoned(denied[place(k)]) })
	for _, k := range strays {
		if denied[place(k)] != nil {
			r.alone = append(r.alone, k)
		}
	}
	goes := slices.Clone(strays)
	for _, e := range r.draft.Prune {
		goes = append(goes, draft.KeyOf(e))
	}
	if r.blocked, err = r.bound(ctx, goes, len(r.draft.Publish)+len(r.draft.Manage)+len(r.draft.Keep)); r.blocked != nil {
		r.draft.Hold()
		r.alone = append(r.alone, strays...)
	}
	return err
}

// bound returns why the objects stay although they are wanted no longer, nil when
// they go: they are more than the budget of the generator.
func (r *run) bound(ctx context.Context, goes []object.Key, wanted int) (blocked *fail.Error, err error) {
	if !budget.IsSet(r.generator.Annotations) {
		return nil, nil
	}
	standing, err := r.publisher.Standing(ctx, r.uid())
	if err != nil {
		return nil, err
	}
	var removals []budget.Removal
	for _, k := range goes {
		if uid, ok := standing[k]; ok && !slices.Contains(r.alone, k) {
			removals = append(removals, budget.Removal{Key: k, UID: uid})
		}
	}
	if err := budget.Judge(r.generator.Annotations, removals, wanted); err != nil {
		return &fail.Error{Reason: v1beta1.ReasonPruneBlocked, Class: fail.Wait, Err: err}, nil
	}
	return nil, nil
}

// add notes another use of a namespace.
func add(uses map[string]access.Use, namespace string, u access.Use) {
	was := uses[namespace]
	uses[namespace] = access.Use{
		Publish: was.Publish || u.Publish, Withdraw: was.Withdraw || u.Withdraw,
		Manage: was.Manage || u.Manage, Delete: was.Delete || u.Delete,
	}
}

// leave notes what it takes to remove an object.
func (r *run) leave(uses map[string]access.Use, k object.Key) {
	if k.IsNamespace() {
		add(uses, k.Name, access.Use{Delete: r.prunes()})
	} else {
		add(uses, k.Namespace, access.Use{Withdraw: true})
	}
}

// place returns the namespace that an object is in, or is.
func place(k object.Key) string {
	if k.IsNamespace() {
		return k.Name
	}
	return k.Namespace
}

// strays returns what would be removed although the inventory does not name it:
// what is labelled as the generator's, and what the process remembers.
func (r *run) strays(ctx context.Context) ([]object.Key, error) {
	live, err := r.publisher.Published(ctx, r.uid())
	if err != nil {
		return nil, err
	}
	found := map[object.Key]bool{}
	for k := range live {
		found[k] = true
	}
	for _, k := range r.ledger.Keys(r.uid()) {
		found[k] = true
	}
	for _, e := range r.inventory() {
		delete(found, draft.KeyOf(e))
	}
	if r.draft != nil {
		for _, a := range r.draft.Publish {
			delete(found, draft.Key(a))
		}
		for _, n := range r.draft.Manage {
			delete(found, space.KeyOf(n.Name))
		}
	}
	return slices.SortedFunc(maps.Keys(found), object.Key.Compare), nil
}

// inventory returns what the status names and may be the generator's, for others
// could have edited it: names that an object can have, and of namespaces none
// that no generator manages, nor the one it is in.
func (r *run) inventory() []v1beta1.InventoryEntry {
	return slices.DeleteFunc(slices.Clone(r.generator.Status.Inventory), func(e v1beta1.InventoryEntry) bool {
		if e.IsArtifact() {
			return len(validation.IsDNS1123Subdomain(e.Name))+len(validation.IsDNS1123Label(e.Namespace)) > 0
		}
		return e.Kind != v1beta1.InventoryNamespace || e.Name == r.generator.Namespace || namespace.IsReserved(e.Name) ||
			len(validation.IsDNS1123Label(e.Name)) > 0
	})
}

// prunes reports whether the generator deletes namespaces.
func (r *run) prunes() bool {
	m := r.generator.Spec.ManagedNamespaces
	return m != nil && m.Prune
}

func (r *run) authority() access.Authority {
	return access.Authority{
		Home: r.generator.Namespace, Own: r.generator.Spec.ServiceAccountName, Default: r.Recipe.DefaultServiceAccount,
	}
}

// desk returns a desk for one pass.
func (r *run) desk() *access.Desk { return access.NewDesk(r.Direct, min(r.Wait, maxAgain)) }

// reasoned returns the error with a reason, nil for none.
func reasoned(err error) *fail.Error {
	if err == nil {
		return nil
	}
	if e, ok := fail.As(err); ok {
		return e
	}
	return &fail.Error{Reason: v1beta1.ReasonReconciliationFailed, Err: err}
}
