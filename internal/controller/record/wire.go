package record

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/item"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/shard"
)

// payloadStatus is what an item of a shard has in its payload beside what the
// reconciler has put there: the status of the target, as JSON. A target that the
// inventory does not know has no state.
const payloadStatus = "status"

// open returns the inventory in a field, which may be empty.
func open(data []byte) (inventory.Inventory, error) {
	if len(data) == 0 {
		return inventory.Inventory{}, nil
	}
	items, err := inventory.Decode(data)
	if err != nil {
		return inventory.Inventory{}, fail.Stalled(v1beta2.ReasonFailed, "status.inventory: %w", err)
	}
	return inventory.New("", items), nil
}

// encode returns the field for an inventory: nothing for an empty one.
func encode(v inventory.Inventory) ([]byte, error) {
	if len(v.Items) == 0 {
		return nil, nil
	}
	data, err := inventory.Encode(v.Items)
	if err != nil {
		return nil, fmt.Errorf("encoding the inventory: %w", err)
	}
	return data, nil
}

// join puts the items into an inventory.
func join(v inventory.Inventory, items []v1beta2.ProcessedItem) (inventory.Inventory, error) {
	all := slices.Clone(v.Items)
	at := make(map[object.Key]int, len(all))
	for i := range all {
		at[all[i].Key] = i
	}
	for i := range items {
		p := &items[i]
		data, err := json.Marshal(&p.Status)
		if err != nil {
			return v, fmt.Errorf("encoding the status of %s: %w", item.KeyOf(p), err)
		}
		n, ok := at[item.KeyOf(p)]
		if !ok {
			n = len(all)
			all = append(all, inventory.Item{Key: item.KeyOf(p), Version: p.Version, Payload: replicate.PayloadOf(p.Tenant, p.Origin)})
		}
		payload := maps.Clone(all[n].Payload)
		if payload == nil {
			payload = map[string]string{}
		}
		payload[payloadStatus] = string(data)
		all[n].Payload = payload
	}
	return inventory.New(v.Version, all), nil
}

// split is the inverse of [join].
func split(joined inventory.Inventory) (inventory.Inventory, []v1beta2.ProcessedItem, error) {
	v := inventory.Inventory{Version: joined.Version}
	var items []v1beta2.ProcessedItem
	for _, it := range joined.Items {
		data, ok := it.Payload[payloadStatus]
		if ok {
			p := v1beta2.ProcessedItem{
				Tenant: replicate.TenantOf(&it), Origin: replicate.OriginOf(&it),
				Group: it.Group, Version: it.Version, Kind: it.Kind, Name: it.Name, Namespace: it.Namespace,
			}
			if err := json.Unmarshal([]byte(data), &p.Status); err != nil {
				return v, nil, fail.Stalled(v1beta2.ReasonFailed, "status.shards: reading the status of %s: %w", it.Key, err)
			}
			items = append(items, p)
			it.Payload = maps.Clone(it.Payload)
			delete(it.Payload, payloadStatus)
		}
		if it.State != "" {
			v.Items = append(v.Items, it)
		}
	}
	item.Sort(items)
	return v, items, nil
}

// Labels returns the labels of the shards of a replication, which are in the
// namespace of its status.shards.
func Labels(o Owner) map[string]string { return shard.Labels(o.String()) }

// Read returns the inventory and all items of a replication, for who does not
// keep them, out of its status and the ConfigMaps with [Labels]. It needs these
// only if [IsSharded].
func Read(o Owner, s *v1beta2.ReplicationStatus, shards []unstructured.Unstructured) (inventory.Inventory, []v1beta2.ProcessedItem, error) {
	if !IsSharded(s) {
		v, err := open(s.Inventory)
		return v, s.ProcessedItems, err
	}
	joined, err := shard.Read(o.String(), shards)
	if err == nil && revision(joined.Version) < s.Shards.Revision {
		err = shard.ErrLost
	}
	if err != nil {
		return inventory.Inventory{}, nil, fmt.Errorf("namespace %s: %w", s.Shards.Namespace, err)
	}
	return split(joined)
}

// Look is [Read] for who may list ConfigMaps where they are. The error of the API
// server is returned as it is.
func Look(ctx context.Context, c client.Reader, o Owner, s *v1beta2.ReplicationStatus) (inventory.Inventory, []v1beta2.ProcessedItem, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	if IsSharded(s) {
		if err := c.List(ctx, list, client.InNamespace(s.Shards.Namespace), client.MatchingLabels(Labels(o))); err != nil {
			return inventory.Inventory{}, nil, err
		}
	}
	return Read(o, s, list.Items)
}
