package replicate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/target"
	"github.com/weir-dev/weir/internal/template"
	"github.com/weir-dev/weir/internal/tenant"
)

// Query is one read of sources.
type Query struct {
	schema.GroupVersionKind
	// Namespace is empty for all namespaces, and for kinds that have none.
	Namespace string
	// Name is that of one object; without it all that Selector selects are
	// wanted.
	Name     string
	Selector string
	// Required says that the named object must exist.
	Required bool
}

// Realm is what the queries of a replication may reach.
type Realm struct {
	// Home is the namespace of a TenantResource, empty for a global one.
	Home string
	// Tenant is the one that a TenantResource must not leave.
	Tenant *tenant.Tenant
	// Namespaced reports the scope of a kind, and false for known when there is
	// no such kind.
	Namespaced func(schema.GroupVersionKind) (namespaced, known bool, err error)
}

// Confined reports whether the replication must not leave its tenant.
func (r *Realm) Confined() bool { return r.Home != "" }

// ErrConfined is wrapped by errors of a TenantResource that reaches out of its
// tenant.
var ErrConfined = errors.New("a TenantResource cannot leave its tenant")

// Sources returns the queries of namespacedItems for a destination, in order.
// They count in the scope Namespace alone.
func (b *Block) Sources(d target.Destination, r *Realm) ([]Query, error) {
	if d.Namespace == nil {
		return nil, nil
	}
	out := make([]Query, len(b.spec.NamespacedItems))
	for i := range b.spec.NamespacedItems {
		ref := &b.spec.NamespacedItems[i]
		var err error
		if out[i], err = query(ref, d, r, r.Home); err == nil {
			err = r.copied(&out[i])
		}
		if err != nil {
			return nil, fmt.Errorf("spec.resources[%d].namespacedItems[%d]: %w", b.Index, i, err)
		}
	}
	return out, nil
}

// Context returns the queries of the template context for a destination, by
// their index.
func (b *Block) Context(d target.Destination, r *Realm) (map[string]Query, error) {
	if b.spec.Context == nil || len(b.generators) == 0 {
		return nil, nil
	}
	out := map[string]Query{}
	for i := range b.spec.Context.Resources {
		ref := &b.spec.Context.Resources[i]
		q, err := query(&ref.Reference, d, r, d.NamespaceName())
		if err != nil {
			return nil, fmt.Errorf("spec.resources[%d].context.resources[%d]: %w", b.Index, i, err)
		}
		out[indexOf(i, *ref)] = q
	}
	return out, nil
}

// query resolves a reference. Home is the namespace of one that names none.
func query(ref *v1beta2.Reference, d target.Destination, r *Realm, home string) (Query, error) {
	version := ref.APIVersion
	if version == "" {
		version = "v1"
	}
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		return Query{}, fmt.Errorf("apiVersion: %w", err)
	}
	vars := template.VarsOf(d.TenantName(), d.NamespaceName())
	q := Query{GroupVersionKind: gv.WithKind(ref.Kind), Name: vars.Text(ref.Name), Namespace: vars.Text(ref.Namespace)}
	if ref.Name == "" {
		if q.Selector, err = selector(ref.Selector, vars); err != nil {
			return Query{}, err
		}
	} else {
		q.Required = !ref.IsOptional()
		if q.Name == "" {
			return Query{}, fmt.Errorf("name: %q is empty here", ref.Name)
		}
	}
	if q.Namespace == "" {
		q.Namespace = home
	}
	return q, r.check(&q)
}

// check holds a query to the realm.
func (r *Realm) check(q *Query) error {
	namespaced, known, err := r.Namespaced(q.GroupVersionKind)
	switch {
	case err != nil:
		return err
	case !known:
		return unknown(q.GroupVersionKind)
	case !namespaced && r.Confined():
		return clusterScoped(q.GroupVersionKind)
	case !namespaced:
		q.Namespace = ""
	case r.Confined() && !r.Tenant.Has(q.Namespace):
		return fmt.Errorf("cross-namespace selection is not allowed. Namespace %q is not in tenant %q: %w", q.Namespace, r.Tenant.Name, ErrConfined)
	case q.Name != "" && q.Namespace == "":
		return fmt.Errorf("failed to get %s/%s: an empty namespace may not be set when a resource name is provided", q.Kind, q.Name)
	}
	return nil
}

// copied refuses kinds without namespaces: there is nowhere to copy them to.
func (r *Realm) copied(q *Query) error {
	if namespaced, _, err := r.Namespaced(q.GroupVersionKind); err != nil || namespaced {
		return err
	}
	return fmt.Errorf("kind %s/%s has no namespaces and cannot be copied into any", q.GroupVersion(), q.Kind)
}

func clusterScoped(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("cluster-scoped kind %s/%s is not allowed: %w", gvk.GroupVersion(), gvk.Kind, ErrConfined)
}

// unknown is the error of kinds that are not there. Lists are none.
func unknown(gvk schema.GroupVersionKind) error {
	if of, ok := strings.CutSuffix(gvk.Kind, "List"); ok {
		return fmt.Errorf("kind %s/%s is not known to the API server, or is a list of %s; name the kind of its items, and give each as a manifest of its own",
			gvk.GroupVersion(), gvk.Kind, cmp.Or(of, "anything"))
	}
	return fmt.Errorf("kind %s/%s is not known to the API server", gvk.GroupVersion(), gvk.Kind)
}

// selector returns a label selector with its placeholders replaced.
func selector(s *metav1.LabelSelector, vars template.Vars) (string, error) {
	if s == nil {
		return "", nil
	}
	out := &metav1.LabelSelector{}
	var err error
	if out.MatchLabels, err = vars.Strings(s.MatchLabels); err != nil {
		return "", fmt.Errorf("selector.matchLabels: %w", err)
	}
	for _, e := range s.MatchExpressions {
		values := make([]string, len(e.Values))
		for i, v := range e.Values {
			values[i] = vars.Text(v)
		}
		out.MatchExpressions = append(out.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: vars.Text(e.Key), Operator: e.Operator, Values: values})
	}
	parsed, err := metav1.LabelSelectorAsSelector(out)
	if err != nil {
		return "", fmt.Errorf("selector: %w", err)
	}
	if parsed.Empty() {
		return labels.Everything().String(), nil
	}
	return parsed.String(), nil
}

// selectorKeys returns the keys of labels that a selector looks at, sorted.
func selectorKeys(s *metav1.LabelSelector, vars template.Vars) []string {
	if s == nil {
		return nil
	}
	keys := map[string]bool{}
	for k := range s.MatchLabels {
		keys[vars.Text(k)] = true
	}
	for _, e := range s.MatchExpressions {
		keys[vars.Text(e.Key)] = true
	}
	return slices.Sorted(maps.Keys(keys))
}
