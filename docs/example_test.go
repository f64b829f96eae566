package docs_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/shard"
)

// inMemory is a client of a cluster in memory that holds the objects.
func inMemory(objects ...client.Object) client.Client {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithRESTMapper(mapper).WithObjects(objects...).Build()
}

// The part between the marks is the example of reconciler.md.
func Example() {
	ctx, clnt := context.Background(), inMemory()
	// begin
	rec := reconciler.NewReconciler("shop-operator.example.org", clnt, reconciler.ReconcilerOptions{
		DeletePolicy: new(reconciler.DeletePolicyOrphanOnDelete),
	})
	settings := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "settings"},
		"data":     map[string]any{"level": "info"},
	}}
	request := reconciler.Request{
		Owner:     reconciler.Owner{ID: "prod-1/shop/web"},
		Namespace: "shop",
		Objects:   []reconciler.Object{{Manifest: settings}},
		Store:     &shard.Store{Client: clnt, Namespace: "shop-system"},
	}
	res, err := rec.Apply(ctx, request) // one pass; call it again until res.Done
	for _, o := range res.Outcomes {
		fmt.Println(o.Verb, o.Key, o.Reasons)
	}
	fmt.Println("done:", res.Done, "error:", err)

	res, err = rec.Delete(ctx, request)
	for _, o := range res.Outcomes {
		fmt.Println(o.Verb, o.Key, o.Reasons)
	}
	fmt.Println("done:", res.Done, "error:", err)
	// end

	// Output:
	// Create ConfigMap shop/settings [NotFound NamespaceMissing]
	// done: true error: <nil>
	// Release ConfigMap shop/settings [SetDeleted KeptByPolicy]
	// done: true error: <nil>
}
