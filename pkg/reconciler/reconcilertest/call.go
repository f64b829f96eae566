package reconcilertest

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Call is one call of an API server, or of an inventory store.
type Call struct {
	// N counts the calls of a recorder from 1, in the order in which they began.
	N int
	// Verb is get, list, create, update, patch, delete or deletecollection,
	// and load or commit for stores.
	Verb string
	// GroupVersionKind is that of the object or of a list's items. It is empty
	// for stores.
	schema.GroupVersionKind
	// Namespace and Name are those of the object. The name of a list is empty.
	Namespace, Name string
	// Subresource is empty for the object itself.
	Subresource string
	// Metadata says that only metadata was asked for.
	Metadata bool
	// Patch is the type of a patch.
	Patch types.PatchType
	// DryRun says that the server was asked to change nothing.
	DryRun bool
	// Force says that an apply takes fields of other managers.
	Force bool
	// FieldOwner is the field manager of a write.
	FieldOwner string
	// Preconditions are those of a delete, and the UID and resource version
	// that the body of another write names.
	Preconditions metav1.Preconditions
	// Body is the object of a create, an update or an apply as it was sent.
	Body *unstructured.Unstructured
	// Inner says that an inventory store made the call.
	Inner bool
	// Err is the error that was returned.
	Err error
}

// Key returns the identity of the object.
func (c Call) Key() object.Key {
	return object.Key{Group: c.Group, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
}

// Writes reports whether the call asks the server to change an object.
func (c Call) Writes() bool {
	return !c.DryRun && slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, c.Verb)
}

// String returns the call as a line, such as
//
//	patch ConfigMap shop/web apply force
//
// with the server's reason at its end when it failed.
func (c Call) String() string {
	words := []string{c.Verb}
	add := func(when bool, word string) {
		if when {
			words = append(words, word)
		}
	}
	add(c.Kind != "", strings.TrimSuffix(c.Key().String(), " "))
	add(c.Subresource != "", c.Subresource)
	add(c.Metadata, "metadata")
	add(c.Patch != "", patches[c.Patch])
	add(c.Force, "force")
	add(c.DryRun, "dry-run")
	if c.Err != nil {
		reason := string(apierrors.ReasonForError(c.Err))
		add(reason != "", fmt.Sprintf("(%s)", reason))
		add(reason == "", "(failed)")
	}
	return strings.Join(words, " ")
}

var patches = map[types.PatchType]string{
	types.ApplyYAMLPatchType:      "apply",
	types.ApplyCBORPatchType:      "apply",
	types.JSONPatchType:           "json",
	types.MergePatchType:          "merge",
	types.StrategicMergePatchType: "strategic",
}

// Filter selects calls.
type Filter func(Call) bool

// Reads selects the calls that read objects, dry runs aside.
func Reads(c Call) bool { return c.Verb == "get" || c.Verb == "list" }

// Writes selects the calls that change objects.
func Writes(c Call) bool { return c.Writes() }

// Of selects the calls about one object.
func Of(k object.Key) Filter { return func(c Call) bool { return c.Key() == k } }
