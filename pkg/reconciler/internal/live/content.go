package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Count is how many objects there are, and the name of one of them.
type Count struct {
	N    int
	Name string
}

// Add adds another count.
func (c *Count) Add(o Count) {
	c.N += o.N
	if c.Name == "" {
		c.Name = o.Name
	}
}

// instances counts the objects of a kind that the selector selects. A kind that
// the server does not know has none.
func instances(ctx context.Context, c client.Client, gk schema.GroupKind, sel labels.Selector) (Count, error) {
	mapping, err := c.RESTMapper().RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		return Count{}, nil
	}
	if err != nil {
		return Count{}, fmt.Errorf("looking up kind %s: %w", gk, err)
	}
	list, err := page(ctx, c, mapping.GroupVersionKind, &client.ListOptions{LabelSelector: sel, Limit: 1})
	if err != nil || len(list.Items) == 0 {
		return Count{}, err
	}
	n := len(list.Items)
	if more := list.GetRemainingItemCount(); more != nil {
		n += int(*more)
	}
	return Count{N: n, Name: name(gk, &list.Items[0])}, nil
}

func name(gk schema.GroupKind, u *unstructured.Unstructured) string {
	return object.Key{Group: gk.Group, Kind: gk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}.String()
}

// page reads whole objects, because the client of a manager would serve lists
// of metadata from caches that it would start for every kind.
func page(ctx context.Context, c client.Client, gvk schema.GroupVersionKind, o *client.ListOptions) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	// A kind that is gone has no objects.
	if err := c.List(ctx, list, o); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("listing %s: %w", gvk.GroupKind(), err)
	}
	return list, nil
}

// Inside counts the objects in a namespace that would be lost with it: those
// that no other object owns, that are not going away and that no cluster puts
// there by itself.
func Inside(ctx context.Context, c client.Client, namespace string) (Count, error) {
	var all Count
	kinds, err := namespaced(ctx, c)
	if err != nil {
		return all, err
	}
	for _, gvk := range kinds {
		o := &client.ListOptions{Namespace: namespace, Limit: 500}
		for {
			list, err := page(ctx, c, gvk, o)
			if err != nil {
				return Count{}, err
			}
			for i := range list.Items {
				if m := &list.Items[i]; !incidental(gvk.GroupKind(), m) {
					all.N++
					all.Name = name(gvk.GroupKind(), m)
				}
			}
			if o.Continue = list.GetContinue(); o.Continue == "" {
				break
			}
		}
	}
	return all, nil
}

func incidental(gk schema.GroupKind, m *unstructured.Unstructured) bool {
	if m.GetDeletionTimestamp() != nil || len(m.GetOwnerReferences()) > 0 {
		return true
	}
	switch gk.Kind {
	case "ServiceAccount":
		return m.GetName() == "default"
	case "ConfigMap":
		return m.GetName() == "kube-root-ca.crt" || m.GetName() == "openshift-service-ca.crt"
	case "Secret":
		_, token := m.GetAnnotations()["kubernetes.io/service-account.name"]
		return token
	}
	return false
}

// common are the built-in namespaced kinds whose objects people would miss.
var common = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "Pod"},
	{Version: "v1", Kind: "ReplicationController"},
	{Version: "v1", Kind: "ResourceQuota"},
	{Version: "v1", Kind: "LimitRange"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
}

// namespaced returns the kinds whose objects can be in a namespace: the common ones
// and those of all CustomResourceDefinitions.
func namespaced(ctx context.Context, c client.Client) ([]schema.GroupVersionKind, error) {
	defined, err := custom(ctx, c, func(*meta.RESTMapping) bool { return true })
	if err != nil {
		return nil, err
	}
	kinds := slices.Clone(common)
	for _, m := range defined {
		if m.Scope.Name() == meta.RESTScopeNameNamespace {
			kinds = append(kinds, m.GroupVersionKind)
		}
	}
	return kinds, nil
}

// custom returns the selected kinds of CustomResourceDefinitions.
func custom(ctx context.Context, c client.Client, sel func(*meta.RESTMapping) bool) ([]*meta.RESTMapping, error) {
	list, err := page(ctx, c, object.CRD.WithVersion("v1"), &client.ListOptions{})
	if err != nil {
		return nil, err
	}
	var found []*meta.RESTMapping
	for i := range list.Items {
		plural, group, _ := strings.Cut(list.Items[i].GetName(), ".")
		gvk, err := c.RESTMapper().KindFor(schema.GroupVersionResource{Group: group, Resource: plural})
		if meta.IsNoMatchError(err) {
			continue // not established, so without objects
		}
		if err != nil {
			return nil, fmt.Errorf("looking up %q: %w", list.Items[i].GetName(), err)
		}
		m, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return nil, fmt.Errorf("looking up kind %s: %w", gvk.GroupKind(), err)
		}
		if sel(m) {
			found = append(found, m)
		}
	}
	return found, nil
}

// Typed counts the objects of the kinds that t selects and the selector
// selects. Patterns of kinds select among those of CustomResourceDefinitions.
func Typed(ctx context.Context, c client.Client, t policy.Type, sel labels.Selector) (Count, error) {
	if t.Kind != "*" && !strings.HasPrefix(t.Group, "*") {
		return instances(ctx, c, schema.GroupKind{Group: t.Group, Kind: t.Kind}, sel)
	}
	var all Count
	defined, err := custom(ctx, c, func(m *meta.RESTMapping) bool { return t.Matches(m.GroupVersionKind.GroupKind()) })
	if err != nil {
		return all, err
	}
	for _, m := range defined {
		n, err := instances(ctx, c, m.GroupVersionKind.GroupKind(), sel)
		if err != nil {
			return all, err
		}
		all.Add(n)
	}
	return all, nil
}

// Defined reports whether an established CustomResourceDefinition defines the
// kind. Where we may not read them it trusts the client, which does not know
// the kind.
func Defined(ctx context.Context, c client.Client, gk schema.GroupKind) (bool, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("apiextensions.k8s.io/v1")
	list.SetKind(object.CRD.Kind + "List")
	err := c.List(ctx, list)
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("listing %s: %w", object.CRD, err)
	}
	for i := range list.Items {
		group, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "names", "kind")
		if group == gk.Group && kind == gk.Kind && established(&list.Items[i]) {
			return true, nil
		}
	}
	return false, nil
}

func established(u *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == "Established" && m["status"] == "True"
	})
}
