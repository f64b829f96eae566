// Package plan decides what happens to each object, and why. It is pure: the
// facts come in as values, a plan goes out, and the same facts give the same
// bytes. It neither reads nor writes objects; the reconciler gathers and does.
package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Verb is what is done with an object.
type Verb string

// The verbs.
const (
	None     Verb = "None"     // nothing to do
	Create   Verb = "Create"   // write an absent object
	Adopt    Verb = "Adopt"    // write an object that was not ours
	Update   Verb = "Update"   // write an object that is ours
	Recreate Verb = "Recreate" // delete and write again
	Restamp  Verb = "Restamp"  // write our metadata only
	Purge    Verb = "Purge"    // delete by purge order, stay in the set
	Delete   Verb = "Delete"   // delete
	Finalize Verb = "Finalize" // remove our finalizer from a terminating object
	Release  Verb = "Release"  // take our marks off, leave the object, forget it
	Leave    Verb = "Leave"    // drop our fields from a shared object, forget it
	Forget   Verb = "Forget"   // touch nothing, forget the object
	Wait     Verb = "Wait"     // nothing can be done yet
	Skip     Verb = "Skip"     // left alone on request
	Refuse   Verb = "Refuse"   // left alone because of an error
)

// Writes reports whether the verb sends writes to the server.
func (v Verb) Writes() bool {
	switch v {
	case Create, Adopt, Update, Recreate, Restamp, Purge, Delete, Finalize, Release, Leave:
		return true
	default:
		return false
	}
}

// Reason is a stable code that says why.
type Reason string

// The reasons. A write has at least one.
const (
	NotFound             Reason = "NotFound"             // the object is absent
	DigestChanged        Reason = "DigestChanged"        // the manifest changed
	ComponentChanged     Reason = "ComponentChanged"     // the owner's digest changed
	FieldsDrifted        Reason = "FieldsDrifted"        // our fields have other values
	FieldsForeign        Reason = "FieldsForeign"        // a reclaimed manager has fields
	OwnershipLost        Reason = "OwnershipLost"        // others manage our fields now
	StampLost            Reason = "StampLost"            // our marks were removed
	ReapplyDue           Reason = "ReapplyDue"           // the reapply interval is over
	UIDChanged           Reason = "UIDChanged"           // another incarnation than recorded
	NotRecorded          Reason = "NotRecorded"          // ours, but its last write was not recorded
	Unowned              Reason = "Unowned"              // nobody's object
	OwnerConflict        Reason = "OwnerConflict"        // somebody else's object
	TakenOver            Reason = "TakenOver"            // taken from another owner
	Fight                Reason = "Fight"                // taken back by another owner
	Shared               Reason = "Shared"               // other owners remain on the object
	FieldConflict        Reason = "FieldConflict"        // fields belong to other managers
	ImmutableField       Reason = "ImmutableField"       // a field cannot be changed
	Invalid              Reason = "Invalid"              // the server refuses the content
	Unauthorized         Reason = "Unauthorized"         // the server refuses us
	Failed               Reason = "Failed"               // any other error
	Stale                Reason = "Stale"                // the object changed since it was read
	Unhealthy            Reason = "Unhealthy"            // the object reports failure
	NotReady             Reason = "NotReady"             // the object is not ready yet
	ConditionFalse       Reason = "ConditionFalse"       // a gate is closed
	GateFailed           Reason = "GateFailed"           // a gate cannot tell
	Paused               Reason = "Paused"               // a live directive says so
	KeptByDirective      Reason = "KeptByDirective"      // a live directive keeps it
	HandedOver           Reason = "HandedOver"           // a live directive gives it away
	Rejected             Reason = "Rejected"             // a live directive is wrong
	KeptByPolicy         Reason = "KeptByPolicy"         // the delete policy keeps it
	KeptContent          Reason = "KeptContent"          // something inside is kept
	NamespaceMissing     Reason = "NamespaceMissing"     // the namespace does not exist
	NamespaceTerminating Reason = "NamespaceTerminating" // the namespace is going away
	Terminating          Reason = "Terminating"          // the object is going away
	TypeUnknown          Reason = "TypeUnknown"          // the server does not know the kind
	WaveNotReached       Reason = "WaveNotReached"       // an earlier wave is not ready
	DependencyPending    Reason = "DependencyPending"    // what it depends on is not ready
	InUse                Reason = "InUse"                // something is inside
	NotInSet             Reason = "NotInSet"             // no longer wanted
	SetDeleted           Reason = "SetDeleted"           // the whole set is deleted
	PurgeDue             Reason = "PurgeDue"             // its purge wave is done
	Completed            Reason = "Completed"            // purged before
	MarkChanged          Reason = "MarkChanged"          // a shared mark is to be set or removed
)

// Precondition is what the server must still see for an action to happen.
type Precondition struct {
	// Absent says that no object of the key may exist.
	Absent          bool      `json:"absent,omitempty"`
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
}

// Action is one thing to do with one object.
type Action struct {
	object.Key `json:",inline"`

	Version string       `json:"version"`
	Verb    Verb         `json:"verb"`
	Reasons []Reason     `json:"reasons,omitempty"`
	Pre     Precondition `json:"pre,omitzero"`
	// Digest is that of the manifest to write.
	Digest string `json:"digest,omitempty"`
	// Wave is the apply order, or the delete order of what goes.
	Wave int `json:"wave,omitempty"`
	// Writes is the most write requests that the action costs.
	Writes int `json:"writes,omitempty"`
	// Health is that of the object as it was read.
	Health health.Status `json:"health,omitempty"`
	// Message says what a person may want to know.
	Message string `json:"message,omitempty"`
}

// Outcome is what became of an action.
type Outcome struct {
	Action
	// Err is nil when the action was done, or there was nothing to do. Errors
	// of package fault tell what is wrong.
	Err error `json:"-"`
	// Took is the time that the action took.
	Took time.Duration `json:"-"`
}

// Plan is what a pass would do, in order.
type Plan struct {
	// Owner is the id of the owner.
	Owner string `json:"owner"`
	// Whole says that the plan deletes the whole set.
	Whole bool `json:"whole,omitempty"`
	// Namespaces are the missing namespaces to create first, sorted.
	Namespaces []string `json:"namespaces,omitempty"`
	// Apply and Remove hold one action for every object, in order.
	Apply  []Action `json:"apply,omitempty"`
	Remove []Action `json:"remove,omitempty"`
}

// Empty reports whether the plan writes nothing and forgets nothing.
func (p *Plan) Empty() bool {
	for _, list := range [][]Action{p.Apply, p.Remove} {
		for _, a := range list {
			if a.Verb.Writes() || a.Verb == Forget {
				return false
			}
		}
	}
	return len(p.Namespaces) == 0
}
