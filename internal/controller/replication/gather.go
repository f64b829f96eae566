package replication

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/membership"
	"github.com/weir-dev/weir/internal/controller/origin"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/internal/step"
	"github.com/weir-dev/weir/internal/tenant"
	"github.com/weir-dev/weir/pkg/reconciler"
)

// run is one pass over one replication.
type run struct {
	*Engine
	subject

	pass *loop.Pass

	client   client.Client        // by identify
	switched bool                 // by identify: another account than before
	realm    replicate.Realm      // by gather
	where    []tenant.Tenant      // by gather
	blocks   []*replicate.Block   // by gather; nil for those that failed
	failures []*replicate.Failure // by gather, render and apply
	targets  []replicate.Target   // by render
	sources  *origin.Reader       // by render
	objects  []reconciler.Object  // by gate
	result   *reconciler.Result   // by apply or remove
	broken   error                // by apply or remove: what was not about one object
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
	if r.client, err = r.Accounts.For(r.account); err != nil {
		return &fail.Error{Reason: v1beta2.ReasonFailed, Err: fmt.Errorf("failed to load serviceaccount client: %w", err)}
	}
	return nil
}

// gather says who acts, in which tenants, and what the blocks are.
func (r *run) gather(ctx context.Context) error {
	if err := r.identify(ctx); err != nil {
		return err
	}
	all, err := membership.List(ctx, r.Tenants)
	if err != nil {
		return &fail.Error{Reason: v1beta2.ReasonFailed, Err: err}
	}
	r.realm = replicate.Realm{Home: r.object.GetNamespace(), Namespaced: r.namespaced}
	if r.isGlobal() {
		err = r.selectTenants(all)
	} else {
		err = r.findTenant(all)
	}
	if err != nil {
		return err
	}
	blocks, errs := replicate.Compile(r.spec, r.Limits)
	r.blocks = blocks
	for i, err := range errs {
		if err != nil {
			r.failures = append(r.failures, &replicate.Failure{Block: i, All: true, Err: err})
		}
	}
	return nil
}

func (r *run) selectTenants(all []tenant.Tenant) error {
	var err error
	if r.where, err = tenant.Select(all, r.tenants); err != nil {
		return fail.Stalled(v1beta2.ReasonValidationFailed, "spec.%w", err)
	}
	*r.selected = nil
	for _, t := range r.where {
		*r.selected = append(*r.selected, t.Name)
	}
	return nil
}

// findTenant finds the tenant of a TenantResource. Without one nothing is done:
// a label that is gone for a moment must not delete anything.
func (r *run) findTenant(all []tenant.Tenant) error {
	home := r.object.GetNamespace()
	i := slices.IndexFunc(all, func(t tenant.Tenant) bool { return t.Has(home) })
	if i < 0 {
		return &fail.Error{Reason: v1beta2.ReasonTenantNotFound, Class: fail.Wait,
			Err: fmt.Errorf("namespace %q is in no tenant; nothing is applied or removed", home)}
	}
	if all[i].Terminating {
		r.pass.Succeed("tenant %s is going away", all[i].Name)
		return step.Done
	}
	r.where = all[i : i+1]
	r.realm.Tenant = &r.where[0]
	return nil
}

// namespaced reports the scope of a kind.
func (e *Engine) namespaced(gvk schema.GroupVersionKind) (namespaced, known bool, err error) {
	m, err := e.Direct.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return false, false, nil
	case err != nil:
		return false, false, err
	}
	return m.Scope.Name() == meta.RESTScopeNameNamespace, true, nil
}
