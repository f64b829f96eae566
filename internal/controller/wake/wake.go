// Package wake says which changes of replications, tenants and namespaces are
// news to replications. Whom they concern is for its callers.
package wake

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/budget"
	"github.com/weir-dev/weir/internal/tenant"
)

// Asked lets changes of a replication pass by which its user asks for
// something.
func Asked() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		is, was := e.ObjectNew.GetAnnotations(), e.ObjectOld.GetAnnotations()
		request := is[v1beta2.AnnotationRequestedAt]
		return request != "" && request != was[v1beta2.AnnotationRequestedAt] ||
			is[budget.Annotation] != was[budget.Annotation] || is[budget.Approval] != was[budget.Approval] ||
			e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
	}}
}

// Readiness lets changes pass that those wait for who depend on a replication.
func Readiness() predicate.Predicate {
	ready := func(o client.Object) string {
		of, ok := o.(interface{ GetConditions() []metav1.Condition })
		if !ok {
			return ""
		}
		c := meta.FindStatusCondition(of.GetConditions(), v1beta2.ConditionReady)
		if c == nil || c.ObservedGeneration != o.GetGeneration() {
			return ""
		}
		return string(c.Status)
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, // it is not ready yet, or everyone is looked at anyway
		UpdateFunc: func(e event.UpdateEvent) bool { return ready(e.ObjectOld) != ready(e.ObjectNew) },
	}
}

// Shown lets changes of a tenant pass that selectors and templates can see, but
// for its status: namespaces that come and go are seen themselves.
func Shown() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Moved wakes the replications of the tenants that a namespace was and is in,
// and those that live in the namespace itself, whose tenant may be another one
// now, or none. Nil lives means that none do.
func Moved(concerns, lives func(context.Context, string) []reconcile.Request) handler.EventHandler {
	wake := func(ctx context.Context, q queue, objs ...client.Object) {
		if lives != nil {
			for _, r := range lives(ctx, objs[0].GetName()) {
				q.Add(r)
			}
		}
		done := map[string]bool{"": true}
		for _, o := range objs {
			of, err := tenant.Of(o)
			if err != nil || done[of] {
				continue
			}
			done[of] = true
			for _, r := range concerns(ctx, of) {
				q.Add(r)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, q, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			old, is := e.ObjectOld, e.ObjectNew
			if maps.Equal(old.GetLabels(), is.GetLabels()) && maps.Equal(old.GetAnnotations(), is.GetAnnotations()) &&
				slices.EqualFunc(old.GetOwnerReferences(), is.GetOwnerReferences(), func(a, b metav1.OwnerReference) bool { return a.UID == b.UID }) &&
				old.GetDeletionTimestamp().IsZero() == is.GetDeletionTimestamp().IsZero() {
				return
			}
			wake(ctx, q, old, is)
		},
	}
}
