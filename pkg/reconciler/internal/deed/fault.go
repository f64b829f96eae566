package deed

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/internal/field"
	"github.com/weir-dev/weir/pkg/reconciler/internal/write"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// Fault turns an error of doing something to the object, such as writing it, into
// one that callers can tell apart. The object is as it was read.
func Fault(doing string, u *unstructured.Unstructured, manager string, err error) error {
	var known *fault.Immutable
	if err == nil || errors.As(err, &known) {
		return err
	}
	k := keyOf(u)
	switch write.Classify(err) {
	case write.Stale:
		return &fault.Stale{Key: k}
	case write.Taken:
		e := &fault.FieldConflict{Key: k}
		for _, path := range write.Fields(err, metav1.CauseTypeFieldManagerConflict) {
			managers := field.Managers(u.GetManagedFields(), path, manager)
			e.Fields = append(e.Fields, fault.Field{Path: path, Managers: managers})
		}
		return e
	default:
		return fmt.Errorf("%s %s: %w", doing, k, err)
	}
}

// Reason returns the code of an error.
func Reason(err error) plan.Reason {
	var (
		stale     *fault.Stale
		conflict  *fault.FieldConflict
		immutable *fault.Immutable
	)
	switch {
	case errors.As(err, &stale):
		return plan.Stale
	case errors.As(err, &conflict):
		return plan.FieldConflict
	case errors.As(err, &immutable):
		return plan.ImmutableField
	}
	switch write.Classify(err) {
	case write.Leaving:
		return plan.NamespaceTerminating
	case write.Unprocessable:
		return plan.Invalid
	case write.Denied:
		return plan.Unauthorized
	case write.Untyped:
		return plan.TypeUnknown
	default:
		return plan.Failed
	}
}
