// Package membership reads tenants and namespaces from a cache and says who
// belongs to whom. What belonging means is decided in package tenant.
package membership

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/tenant"
)

// lastApplied is of no use to templates, and large.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// NewTenant returns an empty tenant as the cache has them: whole, with fields
// that only Capsule knows.
func NewTenant() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(v1beta2.KindTenant))
	return u
}

// List returns all tenants with their namespaces, sorted. Namespaces that claim
// to be in several are left out.
func List(ctx context.Context, r client.Reader) ([]tenant.Tenant, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(v1beta2.KindTenant + "List"))
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing tenants: %w", err)
	}
	var namespaces corev1.NamespaceList
	if err := r.List(ctx, &namespaces, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	tenants := make([]tenant.Tenant, len(list.Items))
	for i := range list.Items {
		u := &list.Items[i]
		tenants[i] = tenant.Tenant{
			Name: u.GetName(), Labels: u.GetLabels(), Terminating: u.GetDeletionTimestamp() != nil,
			Object: sync.OnceValue(func() map[string]any { return shown(u.DeepCopy().Object) }),
		}
	}
	members := map[string][]tenant.Namespace{}
	for i := range namespaces.Items {
		n := &namespaces.Items[i]
		if of, err := tenant.Of(n); err == nil && of != "" {
			members[of] = append(members[of], Namespace(n))
		}
	}
	return tenant.Group(tenants, members), nil
}

// Namespace returns a namespace as the engine sees it.
func Namespace(n *corev1.Namespace) tenant.Namespace {
	return tenant.Namespace{
		Name: n.Name, Labels: n.Labels, Terminating: IsTerminating(n),
		Object: sync.OnceValue(func() map[string]any {
			o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(n)
			if err != nil {
				return nil // a namespace is no struct that cannot be converted
			}
			o["apiVersion"], o["kind"] = "v1", "Namespace"
			return shown(o)
		}),
	}
}

// IsTerminating reports whether a namespace is going away.
func IsTerminating(n *corev1.Namespace) bool {
	return n.DeletionTimestamp != nil || n.Status.Phase == corev1.NamespaceTerminating
}

// shown takes off what templates are not to see.
func shown(o map[string]any) map[string]any {
	unstructured.RemoveNestedField(o, "metadata", "managedFields")
	unstructured.RemoveNestedField(o, "metadata", "annotations", lastApplied)
	return o
}
