// Package wanted finds which targets a replication wants: it reads tenants and
// sources and renders the blocks for every destination. It writes nothing and
// keeps no status, so that a pass and the plan of one are made of the same. Which
// objects come of what was read is decided in package replicate.
package wanted

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/membership"
	"github.com/weir-dev/weir/internal/controller/origin"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/internal/target"
	"github.com/weir-dev/weir/internal/template"
	"github.com/weir-dev/weir/internal/tenant"
)

// Options are what the searches of a program have in common. Tenants and Mapper
// must be set.
type Options struct {
	// Tenants reads tenants, unstructured, and namespaces.
	Tenants client.Reader
	// Mapper knows the kinds of the cluster.
	Mapper meta.RESTMapper
	// Limits bound templates, and RenderTime how long one block may take for one
	// destination; zero means ten seconds.
	Limits     template.Limits
	RenderTime time.Duration
	// Parallel is how many destinations are rendered at a time; zero means 8.
	Parallel int
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Replication is what is asked of a replication of either kind.
type Replication struct {
	// Object is it as templates see it.
	Object client.Object
	Spec   *v1beta2.ReplicationSpec
	// Scope and Tenants are those of a GlobalTenantResource; Tenants is nil for a
	// TenantResource.
	Scope   v1beta2.Scope
	Tenants *metav1.LabelSelector
}

// Search finds the targets of one replication: first [Search.Gather], then
// [Search.Render]. It is used for one pass and by one goroutine.
type Search struct {
	options     Options
	replication Replication
	sources     origin.Reader

	realm    replicate.Realm
	where    []tenant.Tenant
	blocks   []*replicate.Block // nil for those that failed
	failures []*replicate.Failure
}

// New returns a search. Sources acts as whoever may see the sources.
func New(o Options, r Replication, sources client.Reader) *Search {
	if o.RenderTime == 0 {
		o.RenderTime = 10 * time.Second
	}
	if o.Parallel == 0 {
		o.Parallel = 8
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Search{options: o, replication: r, sources: origin.Reader{Client: sources}}
}

// Gather finds out in which tenants the replication works, and what its blocks
// are. Blocks that are wrong are failures, which Render returns.
func (s *Search) Gather(ctx context.Context) error {
	all, err := membership.List(ctx, s.options.Tenants)
	if err != nil {
		return &fail.Error{Reason: v1beta2.ReasonFailed, Err: err}
	}
	r := &s.replication
	s.realm = replicate.Realm{Home: r.Object.GetNamespace(), Namespaced: s.namespaced}
	if r.Tenants != nil {
		if s.where, err = tenant.Select(all, r.Tenants); err != nil {
			return fail.Stalled(v1beta2.ReasonValidationFailed, "spec.%w", err)
		}
	} else if err = s.home(all); err != nil {
		return err
	}
	blocks, errs := replicate.Compile(r.Spec, s.options.Limits)
	s.blocks = blocks
	for i, err := range errs {
		if err != nil {
			s.failures = append(s.failures, &replicate.Failure{Block: i, All: true, Err: err})
		}
	}
	return nil
}

// home finds the tenant of a TenantResource. Without one nothing is wanted or
// removed: a label that is gone for a moment must not delete anything.
func (s *Search) home(all []tenant.Tenant) error {
	home := s.replication.Object.GetNamespace()
	i := slices.IndexFunc(all, func(t tenant.Tenant) bool { return t.Has(home) })
	if i < 0 {
		return &fail.Error{Reason: v1beta2.ReasonTenantNotFound, Class: fail.Wait,
			Err: fmt.Errorf("namespace %q is in no tenant; nothing is applied or removed", home)}
	}
	s.where = all[i : i+1]
	s.realm.Tenant = &s.where[0]
	return nil
}

// Tenants returns the names of the tenants in which the replication works,
// sorted.
func (s *Search) Tenants() []string {
	var out []string
	for _, t := range s.where {
		out = append(out, t.Name)
	}
	return out
}

// Size returns about how many targets there will be, before anything is
// rendered.
func (s *Search) Size() int {
	n := 0
	for _, b := range s.blocks {
		if b != nil {
			n += b.Parts() * len(target.Of(s.replication.Scope, s.where, b.Namespaces))
		}
	}
	return n
}

// Leaving returns the name of the tenant of a TenantResource that is going away,
// and the replication with it, so that nothing is to be done; else "".
func (s *Search) Leaving() string {
	if t := s.realm.Tenant; t != nil && t.Terminating {
		return t.Name
	}
	return ""
}

// Asked returns which sources were asked for, in no order.
func (s *Search) Asked() []replicate.Query { return s.sources.Asked() }

// namespaced reports the scope of a kind. Lists are no kinds of objects, though
// mappers know them: there is nothing to apply or to read by a name.
func (s *Search) namespaced(gvk schema.GroupVersionKind) (namespaced, known bool, err error) {
	if of, list := strings.CutSuffix(gvk.Kind, "List"); list {
		if _, err := s.options.Mapper.RESTMapping(schema.GroupKind{Group: gvk.Group, Kind: of}, gvk.Version); of == "" || err == nil {
			return false, false, nil
		}
	}
	m, err := s.options.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return false, false, nil
	case err != nil:
		return false, false, err
	}
	return m.Scope.Name() == meta.RESTScopeNameNamespace, true, nil
}
