// Package write sends guarded writes. Each one happens only if the object is
// still in the version that the caller saw, or still absent; the server checks
// that. It decides nothing.
package write

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// impossible is a resource version that no stored object has. An apply that
// asks for it creates an absent object and conflicts with a present one.
const impossible = "1"

// Writer writes with a client. Concurrent use is safe.
type Writer struct{ Client client.Client }

// Create posts an absent object and returns it as stored.
func (w Writer) Create(ctx context.Context, body *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	out := body.DeepCopy()
	err := w.Client.Create(ctx, out, &client.CreateOptions{FieldManager: manager, FieldValidation: strict})
	return out, err
}

// TryCreate asks whether the server would take the object if it were absent. A
// server answers that the object exists only after it found the rest right.
func (w Writer) TryCreate(ctx context.Context, body *unstructured.Unstructured, manager string) error {
	return w.Client.Create(ctx, body.DeepCopy(),
		&client.CreateOptions{FieldManager: manager, FieldValidation: strict, DryRun: []string{metav1.DryRunAll}})
}

// strict refuses fields that the server does not know, rather than dropping
// them in silence.
const strict = metav1.FieldValidationStrict

// Apply applies an object on the server's side and returns it as stored. Live
// is the object as it was read, nil if it is absent. An absent object is never
// applied with force.
func (w Writer) Apply(ctx context.Context, body, live *unstructured.Unstructured, manager string, force bool) (*unstructured.Unstructured, error) {
	out := body.DeepCopy()
	if live == nil {
		out.SetResourceVersion(impossible)
	} else {
		out.SetUID(live.GetUID())
		out.SetResourceVersion(live.GetResourceVersion())
	}
	opts := []client.ApplyOption{client.FieldOwner(manager)}
	if force && live != nil {
		opts = append(opts, client.ForceOwnership)
	}
	err := w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(out), opts...)
	return out, err
}

// Replace puts an object in the place of live and returns it as stored. The
// finalizers of live stay, and so do its owner references and status unless
// the body has some.
func (w Writer) Replace(ctx context.Context, body, live *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	out := body.DeepCopy()
	out.SetUID(live.GetUID())
	out.SetResourceVersion(live.GetResourceVersion())
	for _, f := range live.GetFinalizers() {
		object.AddFinalizer(out, f)
	}
	if refs := live.GetOwnerReferences(); len(out.GetOwnerReferences()) == 0 && len(refs) > 0 {
		out.SetOwnerReferences(refs)
	}
	if status, ok := live.Object["status"]; ok && out.Object["status"] == nil {
		out.Object["status"] = status
	}
	err := w.Client.Update(ctx, out, &client.UpdateOptions{FieldManager: manager, FieldValidation: strict})
	return out, err
}

// Metadata merges a patch into the metadata of live and returns it as stored.
// The patch is changed: it gets the resource version of live.
func (w Writer) Metadata(ctx context.Context, live *unstructured.Unstructured, patch map[string]any, manager string) (*unstructured.Unstructured, error) {
	patch["resourceVersion"] = live.GetResourceVersion()
	data, err := json.Marshal(map[string]any{"metadata": patch})
	if err != nil {
		return nil, err
	}
	out := stub(live)
	err = w.Client.Patch(ctx, out, client.RawPatch(types.MergePatchType, data), client.FieldOwner(manager))
	return out, err
}

// Delete deletes live in the background.
func (w Writer) Delete(ctx context.Context, live *unstructured.Unstructured) error {
	uid, rv := live.GetUID(), live.GetResourceVersion()
	return w.Client.Delete(ctx, stub(live),
		client.Preconditions{UID: &uid, ResourceVersion: &rv},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
}

func stub(live *unstructured.Unstructured) *unstructured.Unstructured {
	return object.KeyOf(live).Stub(live.GroupVersionKind().Version)
}
