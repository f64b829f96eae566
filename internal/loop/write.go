package loop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxTries is how often a write is tried when others write at the same time.
const maxTries = 5

// writeStatus writes what changed in the status since the last write: nothing
// at all, or one merge patch of /status that demands the version that the pass
// has read. Server-side apply would send the whole inventory each time, and
// share the fields with whoever wrote them before us.
//
// When only others' parts of the object were written meanwhile the patch is
// sent again, so that the work of a pass is not lost to somebody's annotation;
// conditions still name the generation that the pass has seen. Before the work
// starts (last is false) a new generation is a reason to start over.
func (r *run[T]) writeStatus(ctx context.Context, last bool) error {
	r.decorate()
	status, err := statusOf(r.obj)
	if err != nil {
		return err
	}
	diff, err := jsonpatch.CreateMergePatch(r.status, status)
	if err != nil {
		return fmt.Errorf("comparing the status: %w", err)
	}
	if string(diff) == "{}" {
		return nil
	}
	for try := 1; ; try++ {
		err := r.patch(ctx, map[string]any{"status": json.RawMessage(diff)}, r.Client.Status().Patch)
		if err == nil {
			r.status = status
			return nil
		}
		if !isConflict(err) || try == maxTries || !r.retake(ctx, last) {
			return fmt.Errorf("writing the status: %w", err)
		}
	}
}

// retake takes over the version of the object that the API server has now,
// and reports whether the pass may write on top of it.
func (r *run[T]) retake(ctx context.Context, last bool) bool {
	now := r.Kind.New()
	if err := r.live().Get(ctx, client.ObjectKeyFromObject(r.obj), now); err != nil {
		return false
	}
	status, err := statusOf(now)
	if err != nil || now.GetUID() != r.obj.GetUID() || !bytes.Equal(status, r.status) {
		return false
	}
	r.version = now.GetResourceVersion()
	return last || now.GetGeneration() == r.obj.GetGeneration()
}

// decorate adds the conditions that the kind has beside those of the loop.
func (r *run[T]) decorate() {
	if r.Kind.Conditions == nil {
		return
	}
	is := slices.Clone(r.obj.GetConditions())
	for _, c := range r.Kind.Conditions(r.obj) {
		c.ObservedGeneration = r.obj.GetGeneration()
		meta.SetStatusCondition(&is, c)
	}
	r.obj.SetConditions((&setter{conditions: is}).sorted())
}

// setFinalizer puts the finalizer on the object, or takes it off.
func (r *run[T]) setFinalizer(ctx context.Context, on bool) error {
	rest := r.finalizers(on)
	change := map[string]any{"metadata": map[string]any{"finalizers": rest}}
	if err := r.patch(ctx, change, patchWhole(r.Client)); err != nil {
		return fmt.Errorf("writing the finalizer: %w", err)
	}
	r.obj.SetFinalizers(rest)
	return nil
}

// finalizers returns those of the object with ours, or without.
func (r *run[T]) finalizers(on bool) []string {
	rest := slices.DeleteFunc(slices.Clone(r.obj.GetFinalizers()), func(f string) bool {
		return f == r.Kind.Finalizer || slices.Contains(r.Kind.Obsolete, f)
	})
	if on {
		rest = append(rest, r.Kind.Finalizer)
	}
	return rest
}

func (r *run[T]) hasObsolete() bool {
	return slices.ContainsFunc(r.obj.GetFinalizers(), func(f string) bool { return slices.Contains(r.Kind.Obsolete, f) })
}

// settleMetadata takes off, after a pass, a request that is not acknowledged in
// the status, and finalizers that are not needed any more.
func (r *run[T]) settleMetadata(ctx context.Context) error {
	about := map[string]any{}
	if r.requested != "" && r.Kind.Handled == nil {
		about["annotations"] = map[string]any{r.Kind.Request: nil}
	}
	has := slices.Contains(r.obj.GetFinalizers(), r.Kind.Finalizer)
	need := has && (r.Kind.Needed == nil || r.deleting() || r.Kind.Needed(r.obj))
	if has != need || r.hasObsolete() {
		about["finalizers"] = r.finalizers(need)
	}
	if len(about) == 0 {
		return nil
	}
	if err := r.patch(ctx, map[string]any{"metadata": about}, patchWhole(r.Client)); err != nil {
		return fmt.Errorf("writing the metadata: %w", err)
	}
	return nil
}

// patcher sends a patch to one end point of an object.
type patcher func(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error

func patchWhole(c client.Writer) patcher {
	return func(ctx context.Context, obj client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
		return c.Patch(ctx, obj, p)
	}
}

// patch sends a merge patch that demands the version that the pass knows. The
// answer goes to an object of its own: the steps work on what they have seen.
func (r *run[T]) patch(ctx context.Context, change map[string]any, send patcher) error {
	about, _ := change["metadata"].(map[string]any)
	if about == nil {
		about = map[string]any{}
		change["metadata"] = about
	}
	about["resourceVersion"] = r.version
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	answer := r.Kind.New()
	answer.SetNamespace(r.obj.GetNamespace())
	answer.SetName(r.obj.GetName())
	if err := send(ctx, answer, client.RawPatch(types.MergePatchType, data)); err != nil {
		return err
	}
	r.version = answer.GetResourceVersion()
	r.obj.SetResourceVersion(r.version)
	return nil
}

// statusOf returns the status of an object as JSON.
func statusOf(o client.Object) ([]byte, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encoding the object: %w", err)
	}
	var only struct {
		Status json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(data, &only); err != nil {
		return nil, fmt.Errorf("encoding the object: %w", err)
	}
	if only.Status == nil {
		return []byte("{}"), nil
	}
	return only.Status, nil
}
