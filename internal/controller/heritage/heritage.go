// Package heritage takes over what Capsule left behind: the targets that it
// recorded in the status of a replication, and the field managers under which it
// wrote them. It reads and writes nothing: what became of the targets since is for
// the object reconciler to find out, which believes the managed fields of a target
// more than a record of it.
package heritage

import (
	"hash/fnv"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/objects"
	"github.com/weir-dev/weir/internal/protect/mark"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// cluster stands for the namespace of a GlobalTenantResource in the names of
// Capsule's field managers.
const cluster = "Cluster"

// Managers returns the field managers of Capsule that wrote the targets of the
// replication. It used one for each place in the spec that a target came from,
// all of which begin with a hash of the replication.
func Managers(r mark.Replication) []policy.Manager {
	namespace := r.Namespace
	if namespace == "" {
		namespace = cluster
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(namespace + "\x00" + r.Name)) // never fails
	return []policy.Manager{{Name: strconv.FormatUint(h.Sum64(), 36) + "/", Prefix: true}}
}

// Inventory returns the inventory of a replication whose status has items, and no
// inventory. It is empty if none of them was ever applied. Targets were recorded
// without their UID, so an item names none; which incarnation is meant is told by
// the managers. Items that had no policy of their own go by the deprecated fields
// of the spec.
func Inventory(r mark.Replication, spec *v1beta2.ReplicationSpec, recorded []v1beta2.ProcessedItem) inventory.Inventory {
	if !slices.ContainsFunc(recorded, applied) {
		return inventory.Inventory{}
	}
	legacy := replicate.Legacy(spec)
	all := map[object.Key]inventory.Item{}
	for i := range recorded {
		p := &recorded[i]
		if p.Kind == "" || p.Name == "" || p.Version == "" {
			continue // by a version of Capsule that recorded something else
		}
		it := item(r, p, &legacy)
		if other, ok := all[it.Key]; ok {
			it = merge(other, it)
		}
		all[it.Key] = it
	}
	items := make([]inventory.Item, 0, len(all))
	for _, it := range all {
		items = append(items, it)
	}
	return inventory.New("", items)
}

func item(r mark.Replication, p *v1beta2.ProcessedItem, legacy *v1beta2.Reconciled) inventory.Item {
	k := object.Key{Group: p.Group, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
	if p.Status.ClusterScoped {
		k.Namespace = "" // Capsule recorded the namespace that it rendered for
	}
	by := legacy
	if p.Status.Policy != nil {
		by = p.Status.Policy
	}
	t := replicate.Target{Tenant: p.Tenant, Origin: p.Origin}
	it := inventory.Item{
		Key: k, Version: p.Version, State: inventory.Intended, Created: p.Status.Created, Policy: objects.Policy(by),
		Manager: replicate.Manager(r.Namespace, r.Name, k), Payload: t.Payload(),
	}
	if applied(*p) {
		it.State = inventory.Applied
	}
	if p.Status.LastApply != nil {
		it.At = metav1.NewTime(p.Status.LastApply.Truncate(1e9))
	}
	return it
}

func applied(p v1beta2.ProcessedItem) bool { return p.Status.LastApply != nil || p.Status.Created }

// merge returns the item of an object that was recorded twice, once for each
// place in the spec that it came from. In doubt it stays.
func merge(a, b inventory.Item) inventory.Item {
	b.Created = a.Created || b.Created
	if a.State.Written() {
		b.State = a.State
	}
	if a.At.After(b.At.Time) {
		b.At = a.At
	}
	if a.Policy.Delete == policy.Orphan {
		b.Policy.Delete = a.Policy.Delete
	}
	return b
}
