package guard

import (
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settle has an object in the cluster as it is wanted. The cache says whether
// anything is to do; what is done is decided by the object itself.
func (k *Keeper) settle(ctx context.Context, want client.Object) error {
	live := empty(want)
	name := client.ObjectKeyFromObject(want)
	if err := k.Cache.Get(ctx, name, live); err == nil && same(live, want) {
		return nil
	}
	live = empty(want)
	err := k.Client.Get(ctx, name, live)
	switch {
	case apierrors.IsNotFound(err):
		err = k.Client.Create(ctx, copied(want))
	case err == nil && !same(live, want):
		fresh := copied(want)
		fresh.SetResourceVersion(live.GetResourceVersion())
		fresh.SetAnnotations(live.GetAnnotations())
		labels := live.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, want.GetLabels())
		fresh.SetLabels(labels)
		err = k.Client.Update(ctx, fresh)
		k.Log.Info("admission policy set right", "name", want.GetName())
	}
	if err != nil {
		return fmt.Errorf("installing %s: %w", describe(want), err)
	}
	return nil
}

// remove has an object gone.
func (k *Keeper) remove(ctx context.Context, o client.Object) error {
	live := empty(o)
	// The cache may lack an object that has lost its label, so it is not asked.
	err := k.Client.Get(ctx, client.ObjectKeyFromObject(o), live)
	if err == nil {
		err = k.Client.Delete(ctx, live, client.Preconditions{UID: new(live.GetUID())})
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing %s: %w", describe(o), err)
	}
	return nil
}

func describe(o client.Object) string {
	if _, ok := o.(*v1.ValidatingAdmissionPolicy); ok {
		return fmt.Sprintf("ValidatingAdmissionPolicy %q", o.GetName())
	}
	return fmt.Sprintf("ValidatingAdmissionPolicyBinding %q", o.GetName())
}

func copied(o client.Object) client.Object { return o.DeepCopyObject().(client.Object) }

// empty returns a new object of the same kind.
func empty(o client.Object) client.Object {
	if _, ok := o.(*v1.ValidatingAdmissionPolicy); ok {
		return &v1.ValidatingAdmissionPolicy{}
	}
	return &v1.ValidatingAdmissionPolicyBinding{}
}

// same reports whether an object does what the wanted one says.
func same(live, want client.Object) bool {
	for key, value := range want.GetLabels() {
		if live.GetLabels()[key] != value {
			return false
		}
	}
	if live.GetDeletionTimestamp() != nil {
		return false
	}
	switch want := want.(type) {
	case *v1.ValidatingAdmissionPolicy:
		live, ok := live.(*v1.ValidatingAdmissionPolicy)
		return ok && equality.Semantic.DeepEqual(live.Spec, want.Spec)
	case *v1.ValidatingAdmissionPolicyBinding:
		live, ok := live.(*v1.ValidatingAdmissionPolicyBinding)
		return ok && equality.Semantic.DeepEqual(live.Spec, want.Spec)
	}
	return false
}
