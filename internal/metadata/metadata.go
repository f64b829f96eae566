// Package metadata is the labels and annotations of what a generator makes,
// built up in layers. The labels that say who manages an object cannot be set
// by any layer.
package metadata

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// Manager is the value of the label that names the managing program.
const Manager = "weir"

// Set is labels and annotations. The zero value is empty. Operations return a
// new Set and leave their arguments alone.
type Set struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Of returns what the API's type holds; nil holds nothing.
func Of(m *v1beta1.Metadata) Set {
	if m == nil {
		return Set{}
	}
	return Set{Labels: m.Labels, Annotations: m.Annotations}
}

// Override returns s with all of over, which wins where both have a key.
func (s Set) Override(over Set) Set {
	return Set{
		Labels:      union(s.Labels, over.Labels),
		Annotations: union(s.Annotations, over.Annotations),
	}
}

// Merge returns s with those keys of over that it lacks.
func (s Set) Merge(over Set) Set { return over.Override(s) }

// Stamped returns s with the labels that say who manages the object. Without
// a generator, as when nothing is in a cluster, that is the program alone.
func (s Set) Stamped(generatorUID string) Set {
	labels := union(s.Labels, map[string]string{v1beta1.LabelManagedBy: Manager})
	delete(labels, v1beta1.LabelGenerator)
	if generatorUID != "" {
		labels[v1beta1.LabelGenerator] = generatorUID
	}
	return Set{Labels: labels, Annotations: s.Annotations}
}

func union(a, b map[string]string) map[string]string {
	if len(a)+len(b) == 0 {
		return nil
	}
	out := make(map[string]string, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// Check says what Kubernetes would refuse in s, and that s hands a namespace
// over, which only somebody else may do.
func (s Set) Check() error {
	problems := metav1validation.ValidateLabels(s.Labels, field.NewPath("labels"))
	problems = append(problems, apivalidation.ValidateAnnotations(s.Annotations, field.NewPath("annotations"))...)
	if len(problems) > 0 {
		var texts []string
		for _, p := range problems {
			text, _, _ := strings.Cut(p.Error(), " (e.g. ")
			texts = append(texts, text)
		}
		slices.Sort(texts)
		return errors.New(strings.Join(texts, "; "))
	}
	if _, ok := s.Annotations[v1beta1.AnnotationExternalFinalizer]; ok {
		return fmt.Errorf("annotations: %s may not be computed: set it on the namespace in the cluster",
			v1beta1.AnnotationExternalFinalizer)
	}
	return nil
}
