// Package share tells how the owners of a shared object stand. It is pure.
package share

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// Peers reports whether owners of the family other than the manager are on the
// object.
func Peers(s *stamp.Shared, u *unstructured.Unstructured, manager string) bool {
	for _, e := range u.GetManagedFields() {
		if e.Manager != manager && e.Subresource == "" && s.Peer(e.Manager) {
			return true
		}
	}
	return false
}

// Marked reports whether the marks are as one owner wants them. A mark that it
// does not want may stand for a peer.
func Marked(s *stamp.Shared, u *unstructured.Unstructured, want map[string]string, peers bool) bool {
	return len(Marks(s, u, want, peers)) == 0
}

// Marks returns a patch of labels that makes the marks right.
func Marks(s *stamp.Shared, u *unstructured.Unstructured, want map[string]string, peers bool) map[string]any {
	patch := map[string]any{}
	have := u.GetLabels()
	for _, k := range s.Marks {
		v, wanted := want[k]
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
