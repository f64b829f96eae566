package source

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// News lets those events of sources pass that may matter to who uses them: a
// source comes or goes, gets another artifact, or becomes ready.
func News() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(Object)
		is, also := e.ObjectNew.(Object)
		return !ok || !also || changed(was, is)
	}}
}

func changed(was, is Object) bool {
	a, had := StateOf(was)
	b, has := StateOf(is)
	return a != b || had != has || was.GetUID() != is.GetUID() || !isReady(was) && isReady(is)
}

func isReady(o Object) bool {
	c, ok := o.(interface{ GetConditions() []metav1.Condition })
	return ok && meta.IsStatusConditionTrue(c.GetConditions(), "Ready")
}
