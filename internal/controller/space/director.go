package space

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Director reads from live namespaces what is to be done with them, and
// nothing from other objects. A namespace that is not to be deleted is left as
// it is, labels and all.
type Director struct {
	// Prune says that the generator deletes its namespaces.
	Prune bool
	// Ends says that the generator is being deleted, so that nothing can be put
	// off.
	Ends bool
}

// Direct implements the director of the object reconciler.
func (d Director) Direct(live *unstructured.Unstructured) plan.Directive {
	if !object.KeyOf(live).IsNamespace() {
		return plan.Directive{}
	}
	annotations := live.GetAnnotations()
	says := func(key, value string) bool { return strings.EqualFold(annotations[key], value) }
	if says(v1beta1.AnnotationReconcile, v1beta1.ValueDisabled) {
		// What was put off is done when management resumes.
		return plan.Directive{SkipApply: true, SkipDelete: !d.Ends, HandOver: d.Ends, Reason: because(v1beta1.AnnotationReconcile)}
	}
	var out plan.Directive
	switch key := v1beta1.AnnotationSSA; {
	case says(key, v1beta1.ValueIgnore):
		return plan.Directive{SkipApply: true, HandOver: true, Reason: because(key)}
	case says(key, v1beta1.ValueIfNotPresent):
		out = plan.Directive{SkipApply: true, Reason: because(key)}
	case says(key, v1beta1.ValueMerge):
		out.Update = policy.SsaMerge
	}
	reference, handed := annotations[v1beta1.AnnotationExternalFinalizer]
	switch {
	case !d.Prune:
		out.HandOver, out.Reason = true, "the generator does not prune namespaces"
	case says(v1beta1.AnnotationPrune, v1beta1.ValueDisabled):
		out.HandOver, out.Reason = true, because(v1beta1.AnnotationPrune)
	case !handed:
	default:
		if err := checkReference(reference); err != nil {
			out.RejectDelete, out.Reason = true, fmt.Sprintf("annotation %s: %v", v1beta1.AnnotationExternalFinalizer, err)
		} else {
			out.HandOver, out.Reason = true, because(v1beta1.AnnotationExternalFinalizer)
		}
	}
	return out
}

func because(annotation string) string { return "its annotation " + annotation + " says so" }

// checkReference says what is wrong with a reference to the object that
// finalizes a namespace.
func checkReference(s string) error {
	parts := strings.Split(s, "/")
	if n := len(parts); n != 5 && n != 6 || slices.Contains(parts, "") {
		return fmt.Errorf("%q has not the form group/version/kind/namespace/name/uid, without the namespace if the object is of the cluster and with core for the core group; correct or remove it", s)
	}
	return nil
}
