package replicate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// The keys of what the inventory keeps about a target beside the object.
const (
	payloadTenant = "tenant"
	payloadOrigin = "origin"
	payloadBlocks = "blocks"
)

// Payload returns what the inventory keeps about the target. [TenantOf] and
// [OriginOf] read it.
func (t *Target) Payload() map[string]string {
	m := PayloadOf(t.Tenant, t.Origin)
	if len(t.Blocks) > 1 {
		m[payloadBlocks] = text(t.Blocks)
	}
	return m
}

// PayloadOf returns what the inventory keeps about a target of which nothing else
// is known.
func PayloadOf(tenant, origin string) map[string]string {
	return map[string]string{payloadTenant: tenant, payloadOrigin: origin}
}

// TenantOf returns the tenant of a recorded target.
func TenantOf(it *inventory.Item) string { return it.Payload[payloadTenant] }

// OriginOf returns the origin of a recorded target.
func OriginOf(it *inventory.Item) string { return it.Payload[payloadOrigin] }

func text(blocks []int) string {
	out := make([]string, len(blocks))
	for i, b := range blocks {
		out[i] = strconv.Itoa(b)
	}
	return strings.Join(out, ",")
}

// Holds returns the failure for which a recorded target stays as it is, though
// it may not be wanted: as long as a render fails nobody knows what it would
// have given. It returns nil when there is none. A failure that names an object
// is about that object alone.
func Holds(failures []*Failure, it *inventory.Item) *Failure {
	for _, f := range failures {
		if f.holds(it) {
			return f
		}
	}
	return nil
}

func (f *Failure) holds(it *inventory.Item) bool {
	d := f.Destination
	switch {
	case f.All:
		return true
	case f.Key.Name != "":
		anywhere := f.Key
		anywhere.Namespace = "" // the scope of its kind may not be known
		return it.Key == f.Key || it.Key == anywhere
	case d.Namespace != nil:
		return it.Namespace == d.Namespace.Name || it.Namespace == ""
	case d.Tenant != nil:
		return TenantOf(it) == d.Tenant.Name
	}
	return true
}

// Withhold takes those targets out that others of their renders are missing
// from, because their blocks failed: to apply the rest would remove what those
// gave. Find returns the recorded target of a key.
func Withhold(targets []Target, failures []*Failure, find func(object.Key) (inventory.Item, bool)) []Target {
	if len(failures) == 0 {
		return targets
	}
	return slices.DeleteFunc(slices.Clone(targets), func(t Target) bool {
		it, ok := find(t.Key)
		if !ok || it.Payload[payloadBlocks] == "" {
			return false
		}
		return slices.ContainsFunc(failures, func(f *Failure) bool {
			return f.Key.Name == "" && f.holds(&it) && f.was(it.Payload[payloadBlocks]) && !slices.Contains(t.Blocks, f.Block)
		})
	})
}

// was reports whether the failing block is among those that rendered a target.
func (f *Failure) was(blocks string) bool {
	return f.Block < 0 || slices.Contains(strings.Split(blocks, ","), strconv.Itoa(f.Block))
}
