// Package live reads objects: whole, as metadata in bulk, and what is inside
// containers. It decides nothing and writes nothing.
package live

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// ErrUntyped says that the server does not know the kind.
var ErrUntyped = errors.New("the server does not know the kind")

// Get returns the object, nil when it is absent, or an error wrapping
// [ErrUntyped].
func Get(ctx context.Context, c client.Client, k object.Key, version string) (*unstructured.Unstructured, error) {
	u := k.Stub(version)
	err := c.Get(ctx, types.NamespacedName{Namespace: k.Namespace, Name: k.Name}, u)
	switch {
	case err == nil && u.GetNamespace() != k.Namespace:
		return nil, nil // a kind without namespaces, asked for in one
	case err == nil:
		return u, nil
	case apierrors.IsNotFound(err):
		return nil, nil
	case meta.IsNoMatchError(err):
		return nil, fmt.Errorf("%s: %w", k, ErrUntyped)
	}
	return nil, fmt.Errorf("reading %s: %w", k, err)
}

// Meta is what a list of metadata says about an object.
type Meta struct {
	UID             types.UID
	ResourceVersion string
	Terminating     bool
}

// Ref is an object and the version of its kind.
type Ref struct {
	object.Key
	Version string
}

// bucket is what one list returns.
type bucket struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// List returns the metadata of those refs that the reader has, with one list
// for every kind and namespace. Lists that fail count as empty: what is not
// listed is read.
func List(ctx context.Context, r client.Reader, sel labels.Selector, refs []Ref) map[object.Key]Meta {
	found := make(map[object.Key]Meta, len(refs))
	seen := map[bucket]bool{}
	for _, ref := range refs {
		b := bucket{gvk: ref.GroupKind().WithVersion(ref.Version), namespace: ref.Namespace}
		if seen[b] {
			continue
		}
		seen[b] = true
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(b.gvk.GroupVersion().WithKind(b.gvk.Kind + "List"))
		err := r.List(ctx, list, client.InNamespace(b.namespace), client.MatchingLabelsSelector{Selector: sel}, client.UnsafeDisableDeepCopy)
		if err != nil {
			continue
		}
		for i := range list.Items {
			m := &list.Items[i]
			k := object.Key{Group: ref.Group, Kind: ref.Kind, Namespace: m.Namespace, Name: m.Name}
			found[k] = Meta{UID: m.UID, ResourceVersion: m.ResourceVersion, Terminating: m.DeletionTimestamp != nil}
		}
	}
	return found
}

// few is the number of absent objects of one kind and namespace from which on
// a list is cheaper than reading them.
const few = 4

// Prefetch lists what is there of refs that are probably absent, so that they
// need not be read one by one. A list asks for no more objects than there are
// refs; when that is not all that there is, or the list fails, the refs are not
// in the result and have to be read. An object that is known to be absent is
// nil in the result.
func Prefetch(ctx context.Context, c client.Client, refs []Ref) map[object.Key]*unstructured.Unstructured {
	buckets := map[bucket][]Ref{}
	for _, ref := range refs {
		b := bucket{gvk: ref.GroupKind().WithVersion(ref.Version), namespace: ref.Namespace}
		buckets[b] = append(buckets[b], ref)
	}
	found := map[object.Key]*unstructured.Unstructured{}
	for b, refs := range buckets {
		if len(refs) < few {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(b.gvk.GroupVersion().WithKind(b.gvk.Kind + "List"))
		err := c.List(ctx, list, client.InNamespace(b.namespace), client.Limit(int64(min(len(refs), 500))))
		if err != nil || list.GetContinue() != "" {
			continue
		}
		for _, ref := range refs {
			found[ref.Key] = nil
		}
		for i := range list.Items {
			if k := object.KeyOf(&list.Items[i]); k.Name != "" {
				found[k] = &list.Items[i]
			}
		}
	}
	return found
}
