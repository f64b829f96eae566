package replicate

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/condition"
	"github.com/weir-dev/weir/internal/target"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Target is one object that a replication wants.
type Target struct {
	object.Key

	// Manifest is the object in its place. Kinds without namespaces have none.
	Manifest *unstructured.Unstructured
	// Policy and Condition are those of the last block that renders it.
	Policy    v1beta2.Reconciled
	Condition *condition.Condition
	// Tenant and Origin are those of the last render, and so is Destination.
	Tenant, Origin string
	Destination    target.Destination
	// Renders are the origins of all renders in order, when there are several.
	Renders []string
	// Blocks are the positions of the blocks that render it, sorted.
	Blocks []int
	// Seen is the version of the object that the render depends on; nil when it
	// does not, and empty when the object was absent.
	Seen *string
}

// Fail returns the failure of a target, for a reason that is found later.
func (t *Target) Fail(err error) *Failure {
	return &Failure{
		Block: t.Blocks[len(t.Blocks)-1], Destination: t.Destination, Key: t.Key, Version: t.Manifest.GroupVersionKind().Version, Origin: t.Origin,
		Err: fmt.Errorf("apply failed for item %s: %w", t.Origin, err),
	}
}

// Failure is a render, or an object of one, that cannot be used.
type Failure struct {
	// Block is its position, -1 for all.
	Block int
	// Destination is where; the zero value with All set means everywhere.
	Destination target.Destination
	All         bool
	// Key is that of the object; empty when the render gave none. Version and
	// Origin are its.
	Key             object.Key
	Version, Origin string

	Err error
}

func (f *Failure) Error() string {
	if f.All {
		return f.Err.Error()
	}
	return f.Destination.String() + ": " + f.Err.Error()
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Assemble puts pieces in their places and merges the renders of one object in
// the order of the pieces; the later one wins on the same field, and lists are
// fields. Targets are sorted by their keys.
func Assemble(pieces []Piece, r *Realm) ([]Target, []*Failure) {
	byKey := map[object.Key]*Target{}
	var failures []*Failure
	broken := map[object.Key]bool{}
	for i := range pieces {
		p := &pieces[i]
		key, err := r.place(p)
		if err == nil {
			err = join(byKey, key, p)
		}
		if err != nil {
			broken[key] = true
			err = fmt.Errorf("apply failed for item %s: %w", p.Origin, err)
			failures = append(failures, &Failure{
				Block: p.Block.Index, Destination: p.Destination,
				Key: key, Version: p.Object.GroupVersionKind().Version, Origin: p.Origin, Err: err,
			})
		}
	}
	out := make([]Target, 0, len(byKey))
	for _, key := range slices.SortedFunc(maps.Keys(byKey), object.Key.Compare) {
		if !broken[key] {
			out = append(out, *byKey[key])
		}
	}
	return out, failures
}

// place puts the object of a piece in its namespace and returns its key.
func (r *Realm) place(p *Piece) (object.Key, error) {
	if err := object.Check(p.Object); err != nil {
		return object.KeyOf(p.Object), fmt.Errorf("invalid manifest: %w", err)
	}
	gvk := p.Object.GroupVersionKind()
	namespaced, known, err := r.Namespaced(gvk)
	switch {
	case err != nil:
		return object.KeyOf(p.Object), fmt.Errorf("resolving resource scope failed: %w", err)
	case !known:
		if p.Destination.Namespace != nil {
			p.Object.SetNamespace(p.Destination.Namespace.Name)
		}
		return object.KeyOf(p.Object), fmt.Errorf("resolving resource scope failed: %w", unknown(gvk))
	case !namespaced && r.Confined():
		return object.KeyOf(p.Object), clusterScoped(gvk)
	case !namespaced:
		p.Object.SetNamespace("")
	case p.Destination.Namespace != nil:
		p.Object.SetNamespace(p.Destination.Namespace.Name)
	case p.Object.GetNamespace() == "":
		return object.KeyOf(p.Object), errors.New("the kind is namespaced and the manifest names no namespace, which it must outside of the scope Namespace")
	}
	return object.KeyOf(p.Object), nil
}

// join adds a piece to the target of its key.
func join(byKey map[object.Key]*Target, key object.Key, p *Piece) error {
	t, ok := byKey[key]
	if !ok {
		t = &Target{Key: key, Manifest: p.Object}
		byKey[key] = t
	} else {
		if was, is := t.Manifest.GetAPIVersion(), p.Object.GetAPIVersion(); was != is {
			return fmt.Errorf("%s renders it as %s, and %s as %s; use one version", t.Origin, was, p.Origin, is)
		}
		t.Manifest = &unstructured.Unstructured{Object: merged(t.Manifest.Object, p.Object.Object)}
	}
	t.Policy, t.Condition = p.Block.Policy, p.Block.Condition
	t.Tenant, t.Origin, t.Destination = p.Destination.TenantName(), p.Origin, p.Destination
	if !slices.Contains(t.Renders, p.Origin) {
		t.Renders = append(t.Renders, p.Origin)
	}
	if !slices.Contains(t.Blocks, p.Block.Index) {
		t.Blocks = append(t.Blocks, p.Block.Index)
	}
	if version, ok := p.Seen[key]; ok {
		t.Seen = &version
	}
	return nil
}

// merged lays one JSON mapping over another. Neither is changed.
func merged(under, over map[string]any) map[string]any {
	out := maps.Clone(under)
	for k, v := range over {
		a, ok := out[k].(map[string]any)
		b, both := v.(map[string]any)
		if ok && both {
			out[k] = merged(a, b)
		} else {
			out[k] = runtime.DeepCopyJSONValue(v)
		}
	}
	return out
}
