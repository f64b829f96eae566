// Package space is the Namespace that a generator manages in the cluster: what
// it should say, and what a live one asks for in its annotations. Which
// namespaces are managed, and with what metadata, is decided in package
// namespace. It is pure.
package space

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/internal/metadata"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Version is the version of the kind.
const Version = "v1"

// Heir is the field manager that keeps what a namespace said before it was
// adopted.
const Heir = "weir-adopted"

// KeyOf returns the key of the namespace.
func KeyOf(name string) object.Key { return object.Key{Kind: object.Namespace.Kind, Name: name} }

// Manifest returns the namespace without what marks its owner.
func Manifest(name string, m metadata.Set) *unstructured.Unstructured {
	u := KeyOf(name).Stub(Version)
	if len(m.Labels) > 0 {
		u.SetLabels(m.Labels)
	}
	if len(m.Annotations) > 0 {
		u.SetAnnotations(m.Annotations)
	}
	return u
}

// Reclaim returns the managers whose fields are drift in a managed namespace:
// those that people leave behind with kubectl, and others by their exact names.
func Reclaim(others []string) []policy.Manager {
	out := []policy.Manager{{Name: "kubectl", Prefix: true}, {Name: "before-first-apply"}}
	for _, name := range others {
		out = append(out, policy.Manager{Name: name})
	}
	return out
}

// Digest returns what the inventory holds of the metadata: sha256: and the hash
// of label:key=value and annotation:key=value, sorted and joined by a bar.
func Digest(m metadata.Set) string {
	var all []string
	for key, value := range m.Labels {
		all = append(all, "label:"+key+"="+value)
	}
	for key, value := range m.Annotations {
		all = append(all, "annotation:"+key+"="+value)
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "|")))
	return "sha256:" + hex.EncodeToString(sum[:])
}
