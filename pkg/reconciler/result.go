package reconciler

import (
	"errors"
	"time"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// Result is what one pass did.
type Result struct {
	// Done says that everything is as wanted: all objects are ready and what
	// had to go is gone.
	Done bool
	// Outcomes has one entry for each object, in the order of the waves.
	Outcomes []plan.Outcome
	// Cut is what ended the pass early, or kept it from being recorded; nil when
	// it came to its end. It is no error of an object.
	Cut error
	// Inventory is the inventory after the pass.
	Inventory inventory.Inventory
	// RequeueAfter is when another pass is useful though nothing may change by
	// then; zero means never.
	RequeueAfter time.Duration
}

// Err joins the errors of all objects; it is nil when there are none.
func (r *Result) Err() error {
	var errs []error
	for _, o := range r.Outcomes {
		if o.Err != nil {
			errs = append(errs, o.Err)
		}
	}
	return errors.Join(errs...)
}
