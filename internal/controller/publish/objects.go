package publish

import (
	"context"
	"errors"
	"fmt"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/metadata"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

const (
	// fieldOwner is the manager of our fields.
	fieldOwner = "weir-controller"
	// predecessor is the manager of the fields that a drop-in takes over.
	predecessor = "source-watcher"
	// annotationDigest holds the digest of what was last applied, with which a
	// restart costs no writes.
	annotationDigest = "weir.dev/digest"
)

// newObjects returns the reconciler of namespaces and of the specs of
// ExternalArtifacts.
func newObjects(o Options) *reconciler.Reconciler {
	return reconciler.NewReconciler("weir.dev", o.Direct, reconciler.ReconcilerOptions{
		AdoptionPolicy:          ptr.To(reconciler.AdoptionPolicyAlways),
		UpdatePolicy:            ptr.To(reconciler.UpdatePolicySsaOverride),
		DeletePolicy:            ptr.To(reconciler.DeletePolicyDelete),
		MissingNamespacesPolicy: ptr.To(reconciler.MissingNamespacesPolicyDoNotCreate),
		Reclaim:                 []policy.Manager{{Name: predecessor}},
		Prune:                   policy.PruneAlways,
		FieldOwner:              fieldOwner,
		Stamp: stamp.Stamp{
			Label: v1beta1.LabelGenerator, Plain: true, Digest: annotationDigest,
			Labels: map[string]string{v1beta1.LabelManagedBy: metadata.Manager},
		},
		Metadata: metadataReader{o.Client, !o.NoNamespaces},
		// To prune a namespace is to delete what is in it.
		DeleteFullNamespaces: true,
		Health:               always{},
	})
}

// always is the health of our objects: whether an ExternalArtifact is ready is
// what we tell and not what we wait for, and a namespace is as soon as it is
// there.
type always struct{}

func (always) Analyze(*unstructured.Unstructured, []string) (health.Status, string) {
	return health.Current, ""
}

// metadataReader lists metadata: of ExternalArtifacts out of the cache that has
// them whole, and of namespaces if the cache has it.
type metadataReader struct {
	client.Reader

	namespaces bool
}

// namespaces returns an empty list of the metadata of namespaces.
func namespaces() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	return list
}

// List implements [client.Reader] for the lists of the object reconciler.
func (m metadataReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	out, ok := list.(*metav1.PartialObjectMetadataList)
	if !ok {
		return fmt.Errorf("listing %T is not supported", list)
	}
	if out.GroupVersionKind() == namespaces().GroupVersionKind() {
		if !m.namespaces {
			return errors.New("namespaces are not cached")
		}
		return m.Reader.List(ctx, list, opts...)
	}
	var whole sourcev1.ExternalArtifactList
	if err := m.Reader.List(ctx, &whole, opts...); err != nil {
		return err
	}
	out.Items = make([]metav1.PartialObjectMetadata, len(whole.Items))
	for i := range whole.Items {
		out.Items[i].ObjectMeta = whole.Items[i].ObjectMeta
	}
	return nil
}
