// Package fault is the errors of objects that a caller can tell apart with
// errors.As. Nothing here reads the text of a server's message.
package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Invalid is a manifest, annotation or option that cannot be accepted. Nothing
// was written.
type Invalid struct {
	Key  object.Key // empty when the whole request is meant
	What string
}

// Error returns what is wrong.
func (e *Invalid) Error() string {
	if e.Key == (object.Key{}) {
		return e.What
	}
	return fmt.Sprintf("%s: %s", e.Key, e.What)
}

// OwnerConflict is an object that belongs to somebody else, or to nobody, and
// may not be adopted.
type OwnerConflict struct {
	Key object.Key
	// Owner is the id of the current owner, its hash when the id is unknown,
	// and empty when there is none.
	Owner string
	// Fight says that the object was taken over once and taken back.
	Fight bool
}

// Error names the object and its owner.
func (e *OwnerConflict) Error() string {
	switch {
	case e.Fight:
		return fmt.Sprintf("%s was taken back by owner %q; it is not taken over again", e.Key, e.Owner)
	case e.Owner == "":
		return fmt.Sprintf("%s exists, has no owner and may not be adopted", e.Key)
	default:
		return fmt.Sprintf("%s belongs to owner %q and may not be adopted", e.Key, e.Owner)
	}
}

// Field is a field of an object and who else manages it.
type Field struct {
	Path     string   `json:"path"`
	Managers []string `json:"managers,omitempty"`
}

// FieldConflict is an apply that would change fields of other managers.
type FieldConflict struct {
	Key    object.Key
	Fields []Field
}

// Error names each field and its managers.
func (e *FieldConflict) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Path
		if len(f.Managers) > 0 {
			parts[i] += " of " + strings.Join(f.Managers, ", ")
		}
	}
	return fmt.Sprintf("%s: fields belong to other managers: %s", e.Key, strings.Join(parts, "; "))
}

// Immutable is an update that changes fields which cannot change.
type Immutable struct {
	Key    object.Key
	Fields []string
	Err    error // the server's answer
}

// Error names the fields and gives the server's answer.
func (e *Immutable) Error() string {
	return fmt.Sprintf("%s: fields cannot be changed: %s: %v", e.Key, strings.Join(slices.Sorted(slices.Values(e.Fields)), ", "), e.Err)
}

// Unwrap returns the server's answer.
func (e *Immutable) Unwrap() error { return e.Err }

// Blocked is a Namespace, CustomResourceDefinition or APIService that is not
// deleted while something is inside.
type Blocked struct {
	Key   object.Key
	Count int    // how many objects, at least
	By    string // one of them
}

// Error names the object, the count and one of the objects inside.
func (e *Blocked) Error() string {
	return fmt.Sprintf("%s is not deleted: %d object(s) are inside, such as %s", e.Key, e.Count, e.By)
}

// Stale is an action whose precondition no longer held. Nothing was written.
type Stale struct {
	Key object.Key
	// What says what differs, when a plan is executed.
	What string
}

// Error names the object and what differs.
func (e *Stale) Error() string {
	if e.What == "" {
		return fmt.Sprintf("%s changed since it was read", e.Key)
	}
	return fmt.Sprintf("%s changed since it was read: %s", e.Key, e.What)
}

// Unhealthy is an object that was written and then failed for good.
type Unhealthy struct {
	Key     object.Key
	Message string
}

// Error names the object and says what it reports.
func (e *Unhealthy) Error() string { return fmt.Sprintf("%s failed: %s", e.Key, e.Message) }

// NamespaceMissing is an object whose namespace does not exist and may not be
// created.
type NamespaceMissing struct{ Key object.Key }

// Error names the object and its namespace.
func (e *NamespaceMissing) Error() string {
	return fmt.Sprintf("%s: namespace %q does not exist", e.Key, e.Key.Namespace)
}

// Rejected is an object that a director or a gate refuses to have touched.
type Rejected struct {
	Key    object.Key
	Reason string
}

// Error names the object and the reason.
func (e *Rejected) Error() string { return fmt.Sprintf("%s: %s", e.Key, e.Reason) }
