// Package share tells how the owners of a shared object stand. It is pure.
package share

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// Peers reports whether owners of the family are on the object other than the
// one who has the given managers.
func Peers(s *stamp.Shared, u *unstructured.Unstructured, own []policy.Manager) bool {
	for _, e := range u.GetManagedFields() {
		ours := slices.ContainsFunc(own, func(m policy.Manager) bool { return m.Matches(e.Manager, string(e.Operation)) })
		if !ours && e.Subresource == "" && s.Peer(e.Manager) {
			return true
		}
	}
	return false
}

// Terms are those on which one owner shares one object.
type Terms struct {
	*stamp.Shared

	Signature stamp.Signature
	// Marks are the labels that the owner asks for, and Note is its annotation.
	Marks, Note map[string]string
	// Parent says that the object carries the owner reference of the signature.
	Parent bool
}

// Right returns a patch of metadata that makes marks and signature right; it is
// empty when they are. A mark that the owner does not want may stand for a peer.
// An owner reference is only ever taken off: it is put on by applying it, so
// that it goes when it is applied no longer.
func (t *Terms) Right(u *unstructured.Unstructured, peers bool) map[string]any {
	patch := map[string]any{}
	if off := t.marks(u.GetLabels(), peers); len(off) > 0 {
		patch["labels"] = off
	}
	for k, v := range t.Note {
		if u.GetAnnotations()[k] != v {
			patch["annotations"] = map[string]any{k: v}
		}
	}
	if !t.Parent {
		disown(u, t.Signature, patch)
	}
	return patch
}

func (t *Terms) marks(have map[string]string, peers bool) map[string]any {
	patch := map[string]any{}
	for _, k := range t.Shared.Marks {
		v, wanted := t.Marks[k]
		is, there := have[k]
		switch {
		case wanted && is != v:
			patch[k] = v
		case !wanted && there && !peers:
			patch[k] = nil
		}
	}
	return patch
}

// Unsign adds to a patch of metadata what takes the signature off.
func Unsign(u *unstructured.Unstructured, s stamp.Signature, patch map[string]any) {
	if off := Without(u.GetAnnotations(), []string{s.Key}); len(off) > 0 {
		patch["annotations"] = off
	}
	disown(u, s, patch)
}

// disown adds to a patch of metadata what takes the owner reference off.
func disown(u *unstructured.Unstructured, s stamp.Signature, patch map[string]any) {
	if s.Parent == nil || !IsChild(u, s.Parent) {
		return
	}
	patch["ownerReferences"] = slices.DeleteFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.UID == s.Parent.UID
	})
}

// IsChild reports whether the object has the owner reference.
func IsChild(u *unstructured.Unstructured, parent *metav1.OwnerReference) bool {
	return slices.ContainsFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == parent.UID })
}

// Without returns a patch that removes those of the keys that are there.
func Without(have map[string]string, keys []string) map[string]any {
	off := map[string]any{}
	for _, k := range keys {
		if _, ok := have[k]; ok {
			off[k] = nil
		}
	}
	return off
}

// Selector selects the objects of the family.
func Selector(s *stamp.Shared) labels.Selector {
	sel := labels.NewSelector()
	for k := range s.Managed {
		if r, err := labels.NewRequirement(k, selection.Exists, nil); err == nil {
			sel = sel.Add(*r)
		}
	}
	return sel
}
