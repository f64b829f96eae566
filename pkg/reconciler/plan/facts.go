package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// Facts are all that is known about one object when it is decided on.
type Facts struct {
	object.Key

	Version string
	// Digest and Policy are what is wanted, or the last known policy of an
	// object that goes.
	Digest string
	Policy policy.Policy
	Wave   int
	// Item is the inventory's, the zero value when there is none.
	Item inventory.Item
	// Live is the object in the cluster, nil if it is absent.
	Live *Live
	// Untyped says that the server does not know the kind.
	Untyped bool
	// Place is the namespace of an object that is absent.
	Place Place
	Gate  Gate
	Now   time.Time

	// Shared says that several owners may have the object.
	Shared bool
	// Whole says that the whole set is deleted.
	Whole bool
	// Released says that the owner lets go of the object.
	Released bool
	// Content is what is inside an object that would be deleted.
	Content Content
}

// Live is what was read of an object.
type Live struct {
	UID             types.UID
	ResourceVersion string
	Terminating     bool
	// Finalizer says that our finalizer is on it.
	Finalizer bool
	// Owner is the stamp of an exclusive owner.
	Owner stamp.Owner
	// Share is how shared owners stand.
	Share Share
	// Owned is the hash of our fields as they are now.
	Owned string
	// Contains says that the object already says what is wanted.
	Contains bool
	// Reclaimable says that managers to reclaim from have fields.
	Reclaimable bool
	Directive   Directive
	Health      health.Status
	Message     string
}

// Share is how shared owners stand on an object.
type Share struct {
	// Ours says that our manager has applied fields, or a former one.
	Ours bool
	// Former says that a manager that we had before has fields.
	Former bool
	// Peers says that other owners of the family have.
	Peers bool
	// Created says that the family created the object.
	Created bool
	// Marked says that the marks are as this owner wants them.
	Marked bool
	// Unclaimed says that our owner reference is missing. It is put on with
	// content alone.
	Unclaimed bool
}

// Place is the state of a namespace.
type Place string

// The states of a namespace. The empty one is a namespace that exists, or
// none at all.
const (
	PlaceMissing     Place = "Missing"     // and it may not be created
	PlaceCreate      Place = "Create"      // missing, and created first
	PlaceTerminating Place = "Terminating" // going away
	PlacePending     Place = "Pending"     // of the set, and not applied yet
)

// Gate is the answer of an object's gate.
type Gate struct {
	Closed bool
	Reason string
	Err    error
}

// Content is what is inside a Namespace or of a kind that is to be deleted.
type Content struct {
	// Kept says that an object of the set stays although its container goes.
	Kept bool
	// Pending says that objects of the set inside are on their way out.
	Pending bool
	// Count counts the objects inside that are to stay.
	Count int
	// Name is one of them.
	Name string
}
