package health

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Standard returns the analyzer of this package.
func Standard() Analyzer { return standard{} }

type standard struct{}

// Analyze implements [Analyzer].
func (standard) Analyze(obj *unstructured.Unstructured, hints []string) (Status, string) {
	o := view{obj.Object}
	o = hinted(o, hints)
	if obj.GetDeletionTimestamp() != nil {
		return Terminating, "the object is going away"
	}
	if s, m := general(o, obj.GetGeneration()); s != "" {
		return s, m
	}
	s, m := byKind(o, obj.GroupVersionKind().GroupKind())
	if s != Current {
		return s, m
	}
	for _, name := range conditions(hints) {
		if c := o.condition(name); c.status != "True" {
			return InProgress, fmt.Sprintf("condition %s is not True%s", name, c.says())
		}
	}
	return s, m
}

// general is what holds for every kind. An empty status means that the kind
// decides.
func general(o view, generation int64) (Status, string) {
	if seen, ok := o.maybe("status", "observedGeneration"); ok && seen != generation {
		return InProgress, fmt.Sprintf("generation %d is not observed yet", generation)
	}
	if c := o.condition("Reconciling"); c.status == "True" {
		return InProgress, c.text("it is being reconciled")
	}
	if c := o.condition("Stalled"); c.status == "True" {
		return Failed, c.text("it is stalled")
	}
	return "", ""
}

func byKind(o view, gk schema.GroupKind) (Status, string) {
	if rule, ok := rules[gk]; ok {
		return rule(o)
	}
	return byReady(o)
}

// byReady judges kinds without a rule by their Ready condition, if any.
func byReady(o view) (Status, string) {
	switch c := o.condition("Ready"); c.status {
	case "":
		return Current, ""
	case "True":
		return Current, c.text("")
	default:
		return InProgress, c.text("condition Ready is not True")
	}
}

// conditions returns the names in hints of the form conditions=A;B.
func conditions(hints []string) []string {
	var names []string
	for _, h := range hints {
		if list, ok := strings.CutPrefix(h, policy.HintConditions); ok {
			names = append(names, strings.FieldsFunc(list, func(r rune) bool { return r == ';' })...)
		}
	}
	return names
}

// hinted returns o with what the hints say that its status will have.
func hinted(o view, hints []string) view {
	generation := slices.Contains(hints, policy.HintObservedGeneration)
	ready := slices.Contains(hints, policy.HintReadyCondition)
	if !generation && !ready {
		return o
	}
	status := map[string]any{}
	for k, v := range o.at("status").fields() {
		status[k] = v
	}
	if _, ok := o.maybe("status", "observedGeneration"); generation && !ok {
		status["observedGeneration"] = int64(-1)
		if seen, ok := o.condition("Ready").raw.maybe("observedGeneration"); ok {
			status["observedGeneration"] = seen
		}
	}
	if ready && o.condition("Ready").status == "" {
		list, _ := status["conditions"].([]any)
		status["conditions"] = append(slices.Clone(list), map[string]any{"type": "Ready", "status": "Unknown"})
	}
	top := map[string]any{}
	for k, v := range o.fields() {
		top[k] = v
	}
	top["status"] = status
	return view{top}
}
