package reconcilertest

import (
	"context"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recorded is a client whose calls are recorded. Of subresources it records
// writes of the status; other subresources pass unseen.
type recorded struct {
	client.Client
	r *Recorder
}

func (c *recorded) call(verb string, o runtime.Object) Call {
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		gvk = o.GetObjectKind().GroupVersionKind()
	}
	call := Call{Verb: verb, GroupVersionKind: gvk}
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		call.Metadata = true
	case *unstructured.Unstructured:
		if verb == "create" || verb == "update" {
			call.Body = o.DeepCopy()
		}
	}
	if m, ok := o.(client.Object); ok {
		call.Namespace, call.Name = m.GetNamespace(), m.GetName()
		call.Preconditions = preconditions(m)
	}
	return call
}

func (c *recorded) Get(ctx context.Context, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	call := c.call("get", o)
	call.Namespace, call.Name, call.Preconditions = k.Namespace, k.Name, metav1.Preconditions{}
	return c.r.do(ctx, call, func() error { return c.Client.Get(ctx, k, o, opts...) })
}

func (c *recorded) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	call := c.call("list", l)
	call.Kind = strings.TrimSuffix(call.Kind, "List")
	call.Namespace = (&client.ListOptions{}).ApplyOptions(opts).Namespace
	return c.r.do(ctx, call, func() error { return c.Client.List(ctx, l, opts...) })
}

func (c *recorded) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	call, how := c.call("create", o), (&client.CreateOptions{}).ApplyOptions(opts)
	call.DryRun, call.FieldOwner = len(how.DryRun) > 0, how.FieldManager
	return c.r.do(ctx, call, func() error { return c.Client.Create(ctx, o, opts...) })
}

func (c *recorded) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	call, how := c.call("update", o), (&client.UpdateOptions{}).ApplyOptions(opts)
	call.DryRun, call.FieldOwner = len(how.DryRun) > 0, how.FieldManager
	return c.r.do(ctx, call, func() error { return c.Client.Update(ctx, o, opts...) })
}

func (c *recorded) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	call, how := c.call("patch", o), (&client.PatchOptions{}).ApplyOptions(opts)
	call.DryRun, call.FieldOwner = len(how.DryRun) > 0, how.FieldManager
	call.patch(p, o)
	call.Force = how.Force != nil && *how.Force
	return c.r.do(ctx, call, func() error { return c.Client.Patch(ctx, o, p, opts...) })
}

// patch notes the type of a patch, what it is for, and the body of an apply. A
// patch that cannot be read is left to the call itself.
func (c *Call) patch(p client.Patch, o client.Object) {
	c.Patch = p.Type()
	data, err := p.Data(o)
	if err != nil {
		return
	}
	switch c.Patch {
	case types.JSONPatchType:
		c.Preconditions = tested(data)
	case types.ApplyYAMLPatchType, types.MergePatchType:
		u := &unstructured.Unstructured{Object: map[string]any{}}
		if json.Unmarshal(data, &u.Object) != nil {
			return
		}
		c.Preconditions = preconditions(u)
		if c.Patch == types.ApplyYAMLPatchType {
			c.Body = u
		}
	default:
		// Nothing that tests what it is for.
	}
}

// tested returns what a JSON patch tests, or sets to be compared by the server.
func tested(patch []byte) (p metav1.Preconditions) {
	var ops []struct {
		Op, Path string
		Value    any
	}
	if json.Unmarshal(patch, &ops) != nil {
		return p
	}
	for _, op := range ops {
		value, ok := op.Value.(string)
		switch {
		case !ok || value == "":
		case op.Path == "/metadata/uid" && op.Op == "test":
			uid := types.UID(value)
			p.UID = &uid
		case op.Path == "/metadata/resourceVersion" && op.Op != "remove":
			p.ResourceVersion = &value
		}
	}
	return p
}

func (c *recorded) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	how := (&client.ApplyOptions{}).ApplyOptions(opts)
	call := Call{Verb: "patch", Patch: types.ApplyYAMLPatchType, DryRun: len(how.DryRun) > 0, FieldOwner: how.FieldManager}
	call.Force = how.Force != nil && *how.Force
	if data, err := json.Marshal(o); err == nil {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		if json.Unmarshal(data, &u.Object) == nil {
			call.Body, call.GroupVersionKind = u, u.GroupVersionKind()
			call.Namespace, call.Name, call.Preconditions = u.GetNamespace(), u.GetName(), preconditions(u)
		}
	}
	return c.r.do(ctx, call, func() error { return c.Client.Apply(ctx, o, opts...) })
}

func (c *recorded) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	call, how := c.call("delete", o), (&client.DeleteOptions{}).ApplyOptions(opts)
	call.DryRun, call.Preconditions = len(how.DryRun) > 0, metav1.Preconditions{}
	if how.Preconditions != nil {
		call.Preconditions = *how.Preconditions
	}
	return c.r.do(ctx, call, func() error { return c.Client.Delete(ctx, o, opts...) })
}

func (c *recorded) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	call, how := c.call("deletecollection", o), (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
	call.DryRun, call.Namespace = len(how.DryRun) > 0, how.Namespace
	return c.r.do(ctx, call, func() error { return c.Client.DeleteAllOf(ctx, o, opts...) })
}

func (c *recorded) Status() client.SubResourceWriter {
	return &recordedStatus{c.Client.Status(), c}
}

// recordedStatus records the updates and patches of statuses.
type recordedStatus struct {
	client.SubResourceWriter
	c *recorded
}

func (s *recordedStatus) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	call := s.c.call("update", o)
	call.Subresource = "status"
	return s.c.r.do(ctx, call, func() error { return s.SubResourceWriter.Update(ctx, o, opts...) })
}

func (s *recordedStatus) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	call := s.c.call("patch", o)
	call.Subresource = "status"
	call.patch(p, o)
	return s.c.r.do(ctx, call, func() error { return s.SubResourceWriter.Patch(ctx, o, p, opts...) })
}
