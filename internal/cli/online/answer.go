package online

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// answer is what an object says to a request.
type answer struct {
	final   bool
	err     error  // of a final answer, nil when it is Ready=True
	message string // of the controller, or why there is no answer yet
}

// status is what the kinds of package kind have in common that take requests.
type status struct {
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// judge reads the answer to a request, which was handled or not yet, from an
// object. It is pure.
func judge(o *unstructured.Unstructured, handled, suspended bool) answer {
	var s status
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &s); err != nil {
		return answer{final: true, err: fmt.Errorf("reading its status: %w", err)}
	}
	ready := meta.FindStatusCondition(s.Status.Conditions, v1beta1.ConditionReady)
	working := meta.FindStatusCondition(s.Status.Conditions, v1beta1.ConditionReconciling)
	switch {
	case o.GetDeletionTimestamp() != nil:
		return answer{final: true, err: errors.New("it is being deleted")}
	case suspended:
		return answer{final: true, err: errors.New("it was suspended meanwhile")}
	case !handled && (ready == nil || working == nil):
		return answer{message: "the controller has not taken the request up; is it running, and does it watch this object?"}
	case ready == nil:
		return answer{message: "it has no condition Ready"}
	case !handled, ready.ObservedGeneration < o.GetGeneration(),
		ready.Status == metav1.ConditionUnknown, working != nil && working.Reason == v1beta1.ReasonProgressing:
		return answer{message: "the controller is at work: " + ready.Message}
	case ready.Status == metav1.ConditionTrue:
		return answer{final: true, message: ready.Message}
	}
	return answer{final: true, err: fmt.Errorf("%s: %s", ready.Reason, ready.Message), message: ready.Message}
}
