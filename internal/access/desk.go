package access

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
)

// parallel is how many reviews are under way at a time.
const parallel = 16

// ErrMissing says that a ServiceAccount does not exist. RBAC goes by names and
// would still allow what it was allowed.
var ErrMissing = errors.New("does not exist")

// Client is what a [Desk] needs of a client, which must not answer from a
// cache.
type Client interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
}

// Desk asks and remembers the answers: it is for one pass, so that the next one
// hears of changed rights. Concurrent use is safe.
type Desk struct {
	client Client
	after  time.Duration

	mu      sync.Mutex
	answers map[question]bool // guarded by mu
	known   map[Account]error // guarded by mu: why an account does not count, nil if it does
}

// question is what the API server is asked.
type question struct {
	Account
	need
}

// NewDesk returns a desk that knows no answers. Denials are to be tried again
// after so long: no event tells that rights have changed.
func NewDesk(c Client, after time.Duration) *Desk {
	return &Desk{client: c, after: after, answers: map[question]bool{}, known: map[Account]error{}}
}

// Check returns for each namespace why its use is not allowed, and nothing for
// those whose use is. A denial has the reason AccessDenied; that of an account
// that does not exist also wraps [ErrMissing]. Any other error means that there
// was no answer.
func (d *Desk) Check(ctx context.Context, a Authority, uses map[string]Use) map[string]error {
	out := map[string]error{}
	asked := map[string][]question{}
	for _, namespace := range slices.Sorted(maps.Keys(uses)) {
		account, ok := a.For(namespace)
		needs := uses[namespace].needs(namespace)
		if !ok || len(needs) == 0 {
			continue
		}
		if err := d.exists(ctx, account); err != nil {
			out[namespace] = err
			continue
		}
		for _, n := range needs {
			asked[namespace] = append(asked[namespace], question{account, n})
		}
	}
	failed := d.ask(ctx, asked)
	for namespace, questions := range asked {
		if err := d.verdict(questions, failed); err != nil {
			out[namespace] = err
		}
	}
	return out
}

// exists returns why an account does not count, nil when it is there.
func (d *Desk) exists(ctx context.Context, a Account) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err, ok := d.known[a]; ok {
		return err
	}
	// Whole, for clients of metadata alone ask for a right of their own.
	err := d.client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, &corev1.ServiceAccount{})
	switch {
	case apierrors.IsNotFound(err):
		err = d.denied(fmt.Errorf("ServiceAccount %q, which is to authorise this, %w; create it in namespace %q", a, ErrMissing, a.Namespace))
	case err != nil:
		return fmt.Errorf("reading ServiceAccount %q: %w", a, err)
	}
	d.known[a] = err
	return err
}

// ask has the questions answered that are not yet, each once. It returns those
// that could not be, with the reason.
func (d *Desk) ask(ctx context.Context, asked map[string][]question) map[question]error {
	open := map[question]bool{}
	d.mu.Lock()
	for _, questions := range asked {
		for _, q := range questions {
			if _, known := d.answers[q]; !known {
				open[q] = true
			}
		}
	}
	d.mu.Unlock()
	failed := map[question]error{}
	var group errgroup.Group
	group.SetLimit(parallel)
	for q := range open {
		group.Go(func() error {
			ok, err := d.review(ctx, q)
			d.mu.Lock()
			defer d.mu.Unlock()
			if err != nil {
				failed[q] = err
				return nil
			}
			d.answers[q] = ok
			return nil
		})
	}
	_ = group.Wait()
	return failed
}

func (d *Desk) review(ctx context.Context, q question) (bool, error) {
	r := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: q.String(), Groups: q.groups(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: q.verb, Group: q.group, Version: "*", Resource: q.resource, Subresource: q.subresource,
			Namespace: q.namespace, Name: q.name,
		},
	}}
	if err := d.client.Create(ctx, r); err != nil {
		return false, fmt.Errorf("reviewing what ServiceAccount %q may do: %w", q.Account, err)
	}
	return r.Status.Allowed, nil
}

// verdict returns what stands against the use of one namespace.
func (d *Desk) verdict(questions []question, failed map[question]error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var lacking []need
	for _, q := range questions {
		if err := failed[q]; err != nil {
			return err
		}
		if !d.answers[q] {
			lacking = append(lacking, q.need)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return d.denied(fmt.Errorf("ServiceAccount %q may not %s; grant that to it", questions[0].Account, list(lacking)))
}

// denied makes an error that RBAC may mend, and nothing else.
func (d *Desk) denied(err error) error {
	return &fail.Error{Reason: v1beta1.ReasonAccessDenied, Class: fail.Stall, After: d.after, Err: err}
}

// list names requests, those about the same objects together.
func list(needs []need) string {
	var out []string
	for len(needs) > 0 {
		first := needs[0]
		same := func(n need) bool { n.verb = first.verb; return n == first }
		var verbs []string
		for _, n := range needs {
			if same(n) {
				verbs = append(verbs, n.verb)
			}
		}
		slices.Sort(verbs)
		where := fmt.Sprintf("in namespace %q", first.namespace)
		if first.name != "" {
			where = fmt.Sprintf("%q in the cluster", first.name)
		}
		out = append(out, strings.Join(verbs, ", ")+" "+first.what()+" "+where)
		needs = slices.DeleteFunc(slices.Clone(needs), same)
	}
	return strings.Join(out, ", nor ")
}
