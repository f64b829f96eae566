package stamp

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Signature is what one owner writes on the objects that it shares, beside the
// labels of the family. It is kept right also while a gate is closed, and goes
// when the owner leaves, whoever else remains. The zero value is nothing.
type Signature struct {
	// Key is that of an annotation, which must be the owner's own. Empty means
	// that there is none.
	Key string
	// Value returns what the annotation says on an object. It must be set with
	// Key and always return the same for the same object; concurrent calls happen.
	Value func(object.Key) string
	// Parent is an owner reference for what the owner would delete when it
	// leaves: objects that the family created, that are not to be orphaned, and
	// that nobody else of the family has. Nil means none. So the garbage collector
	// can do nothing that the owner would not.
	Parent *metav1.OwnerReference
}

// Claims reports whether Parent is for objects with that policy.
func (s Signature) Claims(d policy.Delete) bool {
	return s.Parent != nil && !d.Keeps(true) && !d.Keeps(false)
}

// Note returns the annotation for an object, nil if there is none.
func (s Signature) Note(k object.Key) map[string]string {
	if s.Key == "" {
		return nil
	}
	return map[string]string{s.Key: s.Value(k)}
}
