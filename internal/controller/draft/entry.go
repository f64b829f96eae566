package draft

import (
	"path"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/space"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Entry returns the inventory's entry of an artifact.
func Entry(a build.Artifact) v1beta1.InventoryEntry {
	name := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	return v1beta1.InventoryEntry{
		Kind: v1beta1.InventoryArtifact, Namespace: a.Namespace, Name: a.Name,
		Digest: digestOf(a), Filename: path.Base(store.Path(name, a.Content)),
	}
}

func spaceEntry(n build.Namespace) v1beta1.InventoryEntry {
	return v1beta1.InventoryEntry{Kind: v1beta1.InventoryNamespace, Name: n.Name, Digest: space.Digest(n.Metadata)}
}

// KeyOf returns the key of the object that an entry names.
func KeyOf(e v1beta1.InventoryEntry) object.Key {
	if !e.IsArtifact() {
		return space.KeyOf(e.Name)
	}
	return external.KeyOf(e.Namespace, e.Name)
}

// File returns where the file of an entry is in the store.
func File(e v1beta1.InventoryEntry) string {
	name := types.NamespacedName{Namespace: e.Namespace, Name: e.Name}
	return path.Join(path.Dir(store.Path(name, blob.Digest{})), e.Filename)
}

func digestOf(a build.Artifact) string { return "sha256:" + a.Content.String() }
