package reconciler

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// Request is what one owner wants.
type Request struct {
	Owner Owner
	// Objects is the whole set. What the inventory has and the set has not is
	// removed. Delete ignores it.
	Objects []Object
	// Namespace is that of namespaced objects that name none.
	Namespace string
	// Signature is what the owner writes on its objects beside the labels of the
	// family. It needs Sharing; Delete needs it too, to take it off.
	Signature stamp.Signature
	// Release are objects to let go: they are neither applied nor deleted, our
	// marks are taken off, and the inventory forgets them.
	Release []object.Key
	// Store keeps the inventory.
	Store inventory.Store
	// Client acts in place of the reconciler's, for example under another
	// identity. Nil means the reconciler's.
	Client client.Client
	// Director reads directives in place of the options'. Nil means that one.
	Director Director
	// KeepStale leaves what is no longer in the set where it is.
	KeepStale bool
	// Spare, if set, says which items stay as they are although the set does not
	// hold them, because it is not known whether it should. It is asked by one
	// goroutine and must not change the item. Delete ignores it.
	Spare func(it *inventory.Item) bool
}

// Owner is who objects belong to.
type Owner struct {
	// ID is unique across the clusters and programs that could ever meet, and
	// stays the same for the life of the inventory.
	ID string
	// Digest changes when objects with the policy
	// [ReconcilePolicyOnObjectOrComponentChange] are to be written again.
	Digest string
	// Former are field managers that the owner had before, such as those of a
	// program that it comes from. What they wrote on shared objects is the
	// owner's: it passes to the present manager with the next write.
	Former []policy.Manager
}

// Object is one object that an owner wants.
type Object struct {
	// Manifest is the object. It is not changed and may be shared.
	Manifest *unstructured.Unstructured
	// Policy overrides the defaults and the manifest's annotations where its
	// fields are set.
	Policy policy.Policy
	// Gate, if set, is asked before content is written.
	Gate Gate
	// Manager is the field manager for this object, at most 128 bytes. Empty
	// means that of the reconciler.
	Manager string
	// Reclaim are the managers whose fields [UpdatePolicySsaOverride] takes of
	// this object. Nil means those of the options.
	Reclaim []policy.Manager
	// Heir is the manager to which the fields of reclaimed managers pass when
	// the object is adopted from nobody: what it said stays, and only what they
	// add later is taken. Empty means that they are reclaimed at once.
	Heir string
	// Marks are labels out of the Marks of [stamp.Shared].
	Marks map[string]string
	// Payload is kept with the inventory's item.
	Payload map[string]string
}

// Gate decides whether content may be written now. A closed gate does not keep
// an object from being removed.
type Gate interface {
	// Open is given the object as it is in the cluster, nil if it is absent,
	// and must not change it. The reason is for people.
	Open(ctx context.Context, live *unstructured.Unstructured, now time.Time) (open bool, reason string, err error)
}

// Director reads what a live object asks for.
type Director interface {
	// Direct must not change the object. Concurrent calls happen.
	Direct(live *unstructured.Unstructured) plan.Directive
}
