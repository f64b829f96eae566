package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/internal/pass"
	"github.com/weir-dev/weir/pkg/reconciler/internal/set"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// input checks a request and loads its inventory. Nothing is written.
func (r *Reconciler) input(ctx context.Context, q Request, objects bool) (pass.Input, error) {
	in := pass.Input{
		Client: q.Client, Owner: q.Owner.ID, Former: q.Owner.Former, Signature: q.Signature,
		Store: q.Store, Memory: &r.memory, KeepStale: q.KeepStale,
	}
	if objects {
		in.Spare = q.Spare
	}
	if in.Client == nil {
		in.Client = r.client
	}
	if q.Director != nil {
		in.Direct = q.Director.Direct
	}
	switch {
	case r.err != nil:
		return in, r.err
	case q.Owner.ID == "":
		return in, &fault.Invalid{What: "the request names no owner"}
	case q.Store == nil:
		return in, &fault.Invalid{What: "the request has no store"}
	case r.config.Style.Shared == nil && (q.Signature.Key != "" || q.Signature.Parent != nil):
		return in, &fault.Invalid{What: "the request has a signature, which is for shared objects"}
	}
	in.Released = make(map[object.Key]bool, len(q.Release))
	for _, k := range q.Release {
		in.Released[k] = true
	}
	var err error
	if in.Base, err = q.Store.Load(ctx, q.Owner.ID); err != nil {
		return in, fmt.Errorf("loading the inventory: %w", err)
	}
	if err := whole(in.Base); err != nil {
		return in, err
	}
	if objects {
		in.Wants, err = r.wants(in.Client, q, in)
	}
	return in, err
}

// whole checks what was loaded, which others could have edited.
func whole(v inventory.Inventory) error {
	for i, it := range v.Items {
		switch {
		case it.Kind == "" || it.Name == "" || it.Version == "":
			return &fault.Invalid{What: fmt.Sprintf("item %d of the inventory has no kind, version or name", i)}
		case i > 0 && v.Items[i-1].Compare(it.Key) >= 0:
			return &fault.Invalid{Key: it.Key, What: "the inventory is not sorted or holds the object twice"}
		}
	}
	return nil
}

// wants checks the objects of the request and puts them in order.
func (r *Reconciler) wants(c client.Client, q Request, in pass.Input) ([]*set.Want, error) {
	rules := r.rules
	rules.Component, rules.Norm.Namespace = q.Owner.Digest, q.Namespace
	rules.Signature = q.Signature
	rules.Namespaced, rules.Before = scopes(c), before(in.Base)
	rules.Managed = slices.Clone(r.managed)
	for _, it := range in.Base.Items {
		rules.Managed = append(rules.Managed, it.Types...)
	}
	entries := make([]set.Entry, len(q.Objects))
	for i, o := range q.Objects {
		entries[i] = set.Entry{Manifest: o.Manifest, Policy: o.Policy, Manager: o.Manager, Marks: o.Marks, Payload: o.Payload, Reclaim: o.Reclaim, Heir: o.Heir}
		if o.Gate != nil {
			entries[i].Gate = o.Gate
		}
	}
	checked, err := set.New(entries, rules)
	if err != nil {
		return nil, err
	}
	wants := make([]*set.Want, 0, len(checked))
	for _, w := range checked {
		if in.Released[w.Key] {
			continue
		}
		if err := r.shared(w); err != nil {
			return nil, err
		}
		wants = append(wants, w)
	}
	return wants, nil
}

// shared checks what only shared owners may ask for.
func (r *Reconciler) shared(w *set.Want) error {
	if len(w.Manager) > 128 {
		return &fault.Invalid{Key: w.Key, What: fmt.Sprintf("field manager %q is longer than 128 bytes", w.Manager)}
	}
	for m := range w.Marks {
		if s := r.config.Style.Shared; s == nil || !slices.Contains(s.Marks, m) {
			return &fault.Invalid{Key: w.Key, What: fmt.Sprintf("mark %q is not among those of the options", m)}
		}
	}
	return nil
}

// scopes returns a function that tells whether a kind is namespaced.
func scopes(c client.Client) func(schema.GroupVersionKind) (namespaced, known bool, err error) {
	return func(gvk schema.GroupVersionKind) (bool, bool, error) {
		m, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		switch {
		case meta.IsNoMatchError(err):
			return false, false, nil
		case err != nil:
			return false, false, fmt.Errorf("looking up kind %s: %w", gvk.GroupKind(), err)
		}
		return m.Scope.Name() == meta.RESTScopeNameNamespace, true, nil
	}
}

// before returns a function that tells the scope that a kind has in v.
func before(v inventory.Inventory) func(schema.GroupKind) (namespaced, known bool) {
	return func(gk schema.GroupKind) (bool, bool) {
		for i := range v.Items {
			if v.Items[i].GroupKind() == gk {
				return v.Items[i].Namespace != "", true
			}
		}
		return false, false
	}
}

// result turns the output of a pass into a result.
func result(out pass.Output, err error) (*Result, error) {
	r := &Result{Done: out.Done, Outcomes: append(out.Apply, out.Remove...), Inventory: out.Inventory, RequeueAfter: out.Due, Cut: err}
	return r, errors.Join(err, r.Err())
}

func planned(q Request, out pass.Output, whole bool) *plan.Plan {
	p := &plan.Plan{Owner: q.Owner.ID, Whole: whole}
	missing := map[string]bool{}
	for _, o := range out.Apply {
		p.Apply = append(p.Apply, action(o))
		if o.Verb == plan.Create && slices.Contains(o.Reasons, plan.NamespaceMissing) && !missing[o.Namespace] {
			missing[o.Namespace] = true
			p.Namespaces = append(p.Namespaces, o.Namespace)
		}
	}
	for _, o := range out.Remove {
		p.Remove = append(p.Remove, action(o))
	}
	slices.Sort(p.Namespaces)
	return p
}

// action returns the action of an outcome, with the error as its message.
func action(o plan.Outcome) plan.Action {
	if o.Err != nil {
		o.Message = o.Err.Error()
	}
	return o.Action
}
