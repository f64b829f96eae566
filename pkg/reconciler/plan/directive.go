package plan

import "github.com/weir-dev/weir/pkg/reconciler/policy"

// Directive is what a live object asks of the reconciler, usually through its
// annotations. The zero value asks for nothing.
type Directive struct {
	// SkipApply leaves the object as it is. It stays in the inventory.
	SkipApply bool
	// SkipDelete leaves the object as it is when it would be deleted, and in
	// the inventory.
	SkipDelete bool
	// Keep releases the object when it would be deleted: our marks are taken
	// off, the object stays, the inventory forgets it.
	Keep bool
	// HandOver touches nothing when the object would be deleted, and the
	// inventory forgets it.
	HandOver bool
	// Reject refuses to apply and to delete, with Reason as the error.
	Reject bool
	// RejectDelete refuses to delete, with Reason as the error.
	RejectDelete bool
	// Update overrides the update policy.
	Update policy.Update
	// Reason is for people.
	Reason string
}
