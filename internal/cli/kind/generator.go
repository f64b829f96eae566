package kind

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

func artifactGenerator() Kind {
	return Kind{
		Resource: v1beta1.GroupVersion.WithResource("artifactgenerators"),
		Singular: "artifactgenerator",
		Short:    []string{"ag"},
		Columns: []Column{
			{Header: "ARTIFACTS"}, {Header: "FAILED"}, {Header: "NAMESPACES", Wide: true}, {Header: "READY"},
			{Header: "SUSPENDED"}, {Header: "AGE"}, {Header: "SOURCES", Wide: true}, {Header: "REASON", Wide: true},
			{Header: "STATUS", Long: true},
		},
		Row:     generatorRow,
		Request: v1beta1.AnnotationRequestedAt,
		Handled: func(o *unstructured.Unstructured, value string) bool {
			handled, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
			return handled == value
		},
		Suspended: func(o *unstructured.Unstructured) bool {
			g := v1beta1.ArtifactGenerator{ObjectMeta: metav1.ObjectMeta{Annotations: o.GetAnnotations()}}
			return g.IsDisabled()
		},
		Suspend: Change{Annotations: map[string]any{v1beta1.AnnotationReconcile: v1beta1.ValueDisabled}},
		Resume:  Change{Annotations: map[string]any{v1beta1.AnnotationReconcile: nil}},
	}
}

func generatorRow(o *unstructured.Unstructured, now time.Time) ([]string, error) {
	var g v1beta1.ArtifactGenerator
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &g); err != nil {
		return nil, fmt.Errorf("reading artifactgenerator %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	var artifacts, namespaces int
	for _, e := range g.Status.Inventory {
		if e.IsArtifact() {
			artifacts++
		} else {
			namespaces++
		}
	}
	r := readiness(g.Status.Conditions, &g.ObjectMeta)
	return []string{
		strconv.Itoa(artifacts), failed(r), strconv.Itoa(namespaces), string(r.Status),
		title(g.IsDisabled()), age(g.CreationTimestamp, now), sources(g.Spec.Sources), r.Reason, r.Message,
	}, nil
}

// readiness returns the condition Ready. What it says of an earlier generation
// is not known of this one.
func readiness(conditions []metav1.Condition, about *metav1.ObjectMeta) metav1.Condition {
	r := meta.FindStatusCondition(conditions, v1beta1.ConditionReady)
	switch {
	case r == nil:
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: "-", Message: "not reconciled yet"}
	case r.ObservedGeneration < about.Generation && about.DeletionTimestamp != nil:
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: r.Reason, Message: "being deleted"}
	case r.ObservedGeneration < about.Generation:
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: r.Reason, Message: "the spec has changed and is not reconciled yet; before: " + r.Message}
	}
	return *r
}

// failures matches the message of a generator of which parts failed, as
// build.Result makes it: the status has no field for their number.
var failures = regexp.MustCompile(`^(\d+) failed, \d+ built: `)

// failed returns how many artifacts failed, or "-" when that is not known.
func failed(ready metav1.Condition) string {
	if ready.Status == metav1.ConditionTrue {
		return "0"
	}
	if m := failures.FindStringSubmatch(ready.Message); m != nil && ready.Status == metav1.ConditionFalse {
		return m[1]
	}
	return "-"
}

func title(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

func age(since metav1.Time, now time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(now.Sub(since.Time))
}

// sources names the sources as kind/name, or kind/namespace/name where that is
// another.
func sources(all []v1beta1.Source) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s.Kind) + "/" + s.Name
		if s.Namespace != "" {
			out[i] = string(s.Kind) + "/" + s.Namespace + "/" + s.Name
		}
	}
	return strings.Join(out, ",")
}
