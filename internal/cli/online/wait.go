package online

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/internal/cli/cluster"
	"github.com/weir-dev/weir/internal/cli/process"
)

// waiter waits for the answers to requests.
type waiter struct {
	*request

	asked  map[types.UID]string                     // the values of the requests
	last   map[types.UID]*unstructured.Unstructured // what is not answered yet
	failed bool
}

// await tells what came of the requests that the objects bear, each as soon as
// that is known.
func (r *request) await(ctx context.Context, asked []*unstructured.Unstructured) error {
	w := &waiter{request: r, asked: map[types.UID]string{}, last: map[types.UID]*unstructured.Unstructured{}}
	for _, o := range asked {
		w.asked[o.GetUID()] = o.GetAnnotations()[r.kind.Request]
		w.last[o.GetUID()] = o
	}
	objects, err := r.connect()
	if err != nil {
		return err
	}
	selection := cluster.Selection{Labels: r.labels}
	if len(asked) == 1 {
		// Who may read one object alone may watch it too.
		objects, selection.Name = objects.In(asked[0].GetNamespace()), asked[0].GetName()
	}
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	err = objects.Follow(limited, selection, asked, w.see)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		w.giveUp(asked)
	case err != nil:
		return err
	}
	if w.failed {
		return process.ErrReported
	}
	return nil
}

// see takes an object as it is now, and reports whether all are answered.
func (w *waiter) see(o *unstructured.Unstructured, gone bool) (done bool) {
	uid := o.GetUID()
	if w.last[uid] == nil {
		return len(w.last) == 0
	}
	w.last[uid] = o
	a := judge(o, w.kind.Handled(o, w.asked[uid]), w.kind.Suspended(o))
	switch {
	case gone:
		w.tell(o, errors.New("it was deleted"))
	case !a.final:
		return false
	case a.err == nil:
		fmt.Fprintf(w.env.Out, "%s reconciled: %s\n", w.title(o), a.message)
	default:
		w.tell(o, a.err)
	}
	delete(w.last, uid)
	return len(w.last) == 0
}

func (w *waiter) tell(o *unstructured.Unstructured, err error) {
	w.failed = true
	w.fail(o, err)
}

// giveUp tells of what was not answered in time.
func (w *waiter) giveUp(asked []*unstructured.Unstructured) {
	for _, o := range asked {
		if last := w.last[o.GetUID()]; last != nil {
			a := judge(last, w.kind.Handled(last, w.asked[o.GetUID()]), false)
			w.tell(last, fmt.Errorf("no answer within %s: %s", w.timeout, a.message))
		}
	}
}
