package replication

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/record"
	"github.com/weir-dev/weir/internal/controller/wanted"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/internal/step"
	"github.com/weir-dev/weir/pkg/reconciler"
)

// run is one pass over one replication.
type run struct {
	*Engine
	subject

	pass   *loop.Pass
	record *record.Record

	client   client.Client        // by identify
	switched bool                 // by identify: another account than before
	search   *wanted.Search       // by gather
	failures []*replicate.Failure // by render and apply
	targets  []replicate.Target   // by render
	objects  []reconciler.Object  // by gate
	result   *reconciler.Result   // by apply or remove
	broken   error                // by apply or remove: what was not about one object
	blocked  error                // by apply: why nothing is removed
}

// identify says as whom the pass acts.
func (r *run) identify(context.Context) error {
	is := v1beta2.AccountStatus{Name: r.account.Name, Namespace: r.account.Namespace}
	r.switched = r.status.ServiceAccount == nil || *r.status.ServiceAccount != is
	r.status.ServiceAccount = &is
	r.client = r.Direct
	if r.account == r.Own {
		return nil
	}
	var err error
	if r.client, err = r.Accounts.For(r.account, r.id()); err != nil {
		return &fail.Error{Reason: v1beta2.ReasonFailed, Err: fmt.Errorf("failed to load serviceaccount client: %w", err)}
	}
	return nil
}

// gather says who acts, in which tenants, and what the blocks are.
func (r *run) gather(ctx context.Context) error {
	if err := r.identify(ctx); err != nil {
		return err
	}
	r.search = wanted.New(r.wanted, wanted.Replication{
		Object: r.object, Spec: r.spec, Scope: r.scope, Tenants: r.tenants,
	}, r.client)
	if err := r.search.Gather(ctx); err != nil {
		return err
	}
	if r.isGlobal() {
		*r.selected = r.search.Tenants()
	}
	if name := r.search.Leaving(); name != "" {
		r.pass.Succeed("tenant %s is going away", name)
		return step.Done
	}
	return nil
}

// render renders the blocks for every destination.
func (r *run) render(ctx context.Context) (err error) {
	r.targets, r.failures, err = r.search.Render(ctx)
	return err
}
