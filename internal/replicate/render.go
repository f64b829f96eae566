package replicate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/target"
	"github.com/weir-dev/weir/internal/template"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// replica is the origin of copies.
const replica = "replica"

// lastApplied is what kubectl leaves on objects, and no part of a copy.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Input is what a block is rendered with for one destination. Nothing of it is
// changed.
type Input struct {
	Destination target.Destination
	// Sources are what was found for the queries of namespacedItems, in order.
	Sources [][]*unstructured.Unstructured
	// Context is what was found for the queries of the context, by index.
	Context map[string][]*unstructured.Unstructured
	// Asked are the queries of Context.
	Asked map[string]Query
	// Replication is the metadata of the replication itself.
	Replication map[string]any
	Now         time.Time
}

// Piece is one render of one object, before it is put in its place.
type Piece struct {
	Block       *Block
	Destination target.Destination
	// Origin tells what in the block it comes from.
	Origin string
	Object *unstructured.Unstructured
	// Seen are the versions of objects that the render depends on; empty for
	// those that were absent.
	Seen map[object.Key]string
}

// Render renders a block: raw items first, then copies, then generators.
func (b *Block) Render(ctx context.Context, in Input) ([]Piece, error) {
	vars := template.VarsOf(in.Destination.TenantName(), in.Destination.NamespaceName())
	var out []Piece
	add := func(origin string, o map[string]any, seen map[object.Key]string) {
		out = append(out, Piece{b, in.Destination, origin, &unstructured.Unstructured{Object: o}, seen})
	}
	for i, raw := range b.raw {
		m, err := vars.Value(raw)
		if err != nil {
			return nil, fmt.Errorf("spec.resources[%d].rawItems[%d]%w", b.Index, i, err)
		}
		add(fmt.Sprintf("%d/raw-%d", b.Index, i), m.(map[string]any), nil)
	}
	for i, found := range in.Sources {
		for _, o := range b.copies(i, found, in.Destination, vars) {
			add(replica, o, nil)
		}
	}
	data, seen := b.data(in)
	for g, generator := range b.generators {
		docs, err := generator.Render(ctx, data, in.Now)
		if err != nil {
			return nil, fmt.Errorf("spec.resources[%d].generators[%d]: error running generator: %w", b.Index, g, err)
		}
		for n, doc := range docs {
			add(fmt.Sprintf("%d/generator-%d-%d", b.Index, g, n), doc, seen)
		}
	}
	for i := range out {
		if err := b.dress(out[i].Object.Object, vars); err != nil {
			return nil, fmt.Errorf("spec.resources[%d]: %s: %w", b.Index, out[i].Origin, err)
		}
	}
	return out, nil
}

// data returns what templates know, and the versions of what is in it.
func (b *Block) data(in Input) (template.Data, map[object.Key]string) {
	if len(b.generators) == 0 {
		return nil, nil
	}
	data := template.Data{"replications": map[string]any{"metadata": in.Replication}}
	if t := in.Destination.Tenant; t == nil {
		data["tenant"] = map[string]any{"metadata": map[string]any{"name": v1beta2.TenantNone}}
	} else if t.Object != nil {
		data["tenant"] = t.Object()
	}
	if n := in.Destination.Namespace; n != nil && n.Object != nil {
		data["namespace"] = n.Object()
	}
	seen := map[object.Key]string{}
	for index, found := range in.Context {
		if q := in.Asked[index]; q.Name != "" {
			seen[object.Key{Group: q.Group, Kind: q.Kind, Namespace: q.Namespace, Name: q.Name}] = ""
		}
		var list []any
		for _, o := range found {
			seen[object.KeyOf(o)] = o.GetResourceVersion()
			list = append(list, plain(o))
		}
		if list != nil {
			data[index] = list
		}
	}
	return data, seen
}

// plain returns an object as templates see it.
func plain(o *unstructured.Unstructured) map[string]any {
	out := maps.Clone(o.Object)
	delete(out, "status")
	if m, ok := out["metadata"].(map[string]any); ok {
		m = maps.Clone(m)
		for _, field := range []string{"uid", "resourceVersion", "managedFields"} {
			delete(m, field)
		}
		out["metadata"] = m
	}
	return out
}

// copies returns the copies of what was found for the i-th of namespacedItems.
func (b *Block) copies(i int, found []*unstructured.Unstructured, d target.Destination, vars template.Vars) []map[string]any {
	var out []map[string]any
	hidden := selectorKeys(b.spec.NamespacedItems[i].Selector, vars)
	if b.spec.NamespacedItems[i].Name != "" {
		hidden = nil
	}
	sorted := slices.SortedStableFunc(slices.Values(found), func(x, y *unstructured.Unstructured) int {
		return object.KeyOf(x).Compare(object.KeyOf(y))
	})
	for _, o := range sorted {
		if o.GetNamespace() == d.NamespaceName() || IsCreated(o) {
			continue // onto itself, or a copy of a copy
		}
		c := bare(o)
		for _, k := range hidden {
			unstructured.RemoveNestedField(c, "metadata", "labels", k)
		}
		out = append(out, c)
	}
	return out
}

// bare returns a copy of an object without what belongs to the original alone.
func bare(o *unstructured.Unstructured) map[string]any {
	c := runtime.DeepCopyJSON(o.Object)
	delete(c, "status")
	if m, ok := c["metadata"].(map[string]any); ok {
		kept := map[string]any{}
		for _, field := range []string{"name", "labels", "annotations"} {
			if v, ok := m[field]; ok {
				kept[field] = v
			}
		}
		c["metadata"] = kept
		unstructured.RemoveNestedField(c, "metadata", "annotations", lastApplied)
	}
	return c
}

// IsCreated reports whether replications created the object.
func IsCreated(o metav1.Object) bool {
	ls := o.GetLabels()
	switch ls[v1beta2.LabelCreatedBy] {
	case v1beta2.ValueResources, v1beta2.ValueReplications:
		return true
	}
	_, legacy := ls[v1beta2.LabelResources]
	return legacy
}

// dress takes off what manifests cannot set and adds the block's metadata.
func (b *Block) dress(o map[string]any, vars template.Vars) error {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		return nil // whoever puts it in its place says what is wrong
	}
	if add := b.spec.AdditionalMetadata; add != nil {
		for field, given := range map[string]map[string]string{"labels": add.Labels, "annotations": add.Annotations} {
			values, err := vars.Strings(given)
			if err != nil {
				return fmt.Errorf("additionalMetadata.%s: %w", field, err)
			}
			entries, ok := m[field].(map[string]any)
			if !ok && len(values) > 0 {
				if m[field] != nil {
					return fmt.Errorf("metadata.%s is no mapping", field)
				}
				entries = map[string]any{}
				m[field] = entries
			}
			for k, v := range values {
				entries[k] = v
			}
		}
	}
	for field, keys := range map[string]func(string) bool{"labels": isReservedLabel, "annotations": isReservedAnnotation} {
		if entries, ok := m[field].(map[string]any); ok {
			maps.DeleteFunc(entries, func(k string, _ any) bool { return keys(k) })
		}
	}
	return nil
}
