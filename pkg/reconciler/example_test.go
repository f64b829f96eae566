package reconciler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// clnt is the client of an operator's manager. Here it stands for a cluster in
// memory.
func clnt() client.Client {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithRESTMapper(mapper).Build()
}

// settings is a ConfigMap that an operator wants.
func settings(value string) reconciler.Object {
	return reconciler.Object{Manifest: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "settings"},
		"data":     map[string]any{"level": value},
	}}}
}

// An operator keeps one reconciler and calls Apply in every reconcile, and
// Delete until it is done when its own object goes.
func Example() {
	rec := reconciler.NewReconciler("shop-operator.example.org", clnt(), reconciler.ReconcilerOptions{
		AdoptionPolicy:          new(reconciler.AdoptionPolicyIfUnowned),
		UpdatePolicy:            new(reconciler.UpdatePolicyReplace),
		DeletePolicy:            new(reconciler.DeletePolicyDelete),
		MissingNamespacesPolicy: new(reconciler.MissingNamespacesPolicyCreate),
	})
	request := reconciler.Request{
		Owner:     reconciler.Owner{ID: "prod-1/shop/web"},
		Namespace: "shop",
		Objects:   []reconciler.Object{settings("info")},
		Store:     &inventory.Memory{}, // an operator uses its status, or package shard
	}
	ctx := context.Background()
	report := func(res *reconciler.Result, err error) {
		for _, o := range res.Outcomes {
			fmt.Println(o.Verb, o.Key, o.Reasons)
		}
		fmt.Println("done:", res.Done, "error:", err)
	}
	report(rec.Apply(ctx, request))
	report(rec.Apply(ctx, request))
	request.Objects = []reconciler.Object{settings("debug")}
	report(rec.Apply(ctx, request))
	report(rec.Delete(ctx, request))
	// Output:
	// Create ConfigMap shop/settings [NotFound NamespaceMissing]
	// done: true error: <nil>
	// None ConfigMap shop/settings []
	// done: true error: <nil>
	// Update ConfigMap shop/settings [DigestChanged]
	// done: true error: <nil>
	// Delete ConfigMap shop/settings [SetDeleted]
	// done: true error: <nil>
}

// A plan says what the next pass would do, and can be kept, signed and executed
// later. What has changed by then is left alone.
func ExampleReconciler_Plan() {
	rec := reconciler.NewReconciler("shop-operator.example.org", clnt(), reconciler.ReconcilerOptions{})
	request := reconciler.Request{
		Owner: reconciler.Owner{ID: "prod-1/shop/web"}, Namespace: "shop",
		Objects: []reconciler.Object{settings("info")}, Store: &inventory.Memory{},
	}
	ctx := context.Background()
	p, err := rec.Plan(ctx, request)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range p.Apply {
		fmt.Println(a.Verb, a.Key, a.Reasons)
	}
	text, _ := json.Marshal(p)
	var signed plan.Plan
	_ = json.Unmarshal(text, &signed)
	res, err := rec.Execute(ctx, &signed, request)
	fmt.Println("done:", res.Done, "error:", err)
	// Output:
	// Create ConfigMap shop/settings [NotFound NamespaceMissing]
	// done: true error: <nil>
}

// A command line waits until everything is ready.
func ExampleConverge() {
	rec := reconciler.NewReconciler("shop-operator.example.org", clnt(), reconciler.ReconcilerOptions{})
	request := reconciler.Request{
		Owner: reconciler.Owner{ID: "prod-1/shop/web"}, Namespace: "shop",
		Objects: []reconciler.Object{settings("info")}, Store: &inventory.Memory{},
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := reconciler.Converge(ctx, reconciler.Backoff{}, func(ctx context.Context) (*reconciler.Result, error) {
		return rec.Apply(ctx, request)
	})
	fmt.Println("done:", res.Done, "error:", err)
	// Output: done: true error: <nil>
}

// Code overrides the policy of one object where annotations are out of reach.
func ExampleObject() {
	keep := settings("info")
	keep.Policy = policy.Policy{Delete: reconciler.DeletePolicyOrphan}
	rec := reconciler.NewReconciler("shop-operator.example.org", clnt(), reconciler.ReconcilerOptions{})
	request := reconciler.Request{
		Owner: reconciler.Owner{ID: "prod-1/shop/web"}, Namespace: "shop",
		Objects: []reconciler.Object{keep}, Store: &inventory.Memory{},
	}
	ctx := context.Background()
	if _, err := rec.Apply(ctx, request); err != nil {
		fmt.Println(err)
	}
	res, err := rec.Delete(ctx, request)
	fmt.Println(res.Outcomes[0].Verb, res.Outcomes[0].Reasons, err)
	// Output: Release [SetDeleted KeptByPolicy] <nil>
}
