package pass

import (
	"errors"
	"maps"
	"slices"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// equal reports whether two items are the same but for their resource version.
func equal(a, b inventory.Item) bool {
	return a.Key == b.Key && a.Version == b.Version && a.UID == b.UID && a.State == b.State &&
		a.Created == b.Created && a.Digest == b.Digest && a.Owned == b.Owned &&
		a.At.Equal(&b.At) && a.Takeovers == b.Takeovers && a.Manager == b.Manager &&
		samePolicy(&a.Policy, &b.Policy) && maps.Equal(a.Payload, b.Payload) && slices.Equal(a.Types, b.Types)
}

// differs reports whether the set says other things about an object than its
// item does.
func (p *pass) differs(w Want, it inventory.Item) bool {
	return it.Version != w.Version || it.Manager != w.Manager || !samePolicy(&it.Policy, &w.Policy) ||
		!maps.Equal(it.Payload, w.Payload) || !slices.Equal(it.Types, w.Types)
}

func samePolicy(a, b *policy.Policy) bool {
	return a.Adoption == b.Adoption && a.Reconcile == b.Reconcile && a.Update == b.Update &&
		a.Delete == b.Delete && a.Conflict == b.Conflict && a.Immutable == b.Immutable &&
		a.ApplyOrder == b.ApplyOrder && a.DeleteOrder == b.DeleteOrder && a.Reapply == b.Reapply &&
		samePurge(a.PurgeOrder, b.PurgeOrder) && slices.Equal(a.Hints, b.Hints)
}

func samePurge(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func as[T error](err error, to *T) bool { return errors.As(err, to) }
