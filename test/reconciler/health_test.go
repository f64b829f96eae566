package reconciler_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/weir-dev/weir/pkg/reconciler/health"
)

// TestR94_Health: the conventions of kstatus, the kinds that differ, and hints.
func TestR94_Health(t *testing.T) {
	kinds := map[string]string{
		"Deployment": "apps/v1", "Job": "batch/v1", "Widget": "example.com/v1",
		"CustomResourceDefinition": "apiextensions.k8s.io/v1", "APIService": "apiregistration.k8s.io/v1",
	}
	const rolledOut = "observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]"
	for _, c := range []struct {
		name, kind, status string
		hints              string
		want               health.Status
	}{
		{"nothing yet", "Deployment", "", "", health.InProgress},
		{"rolled out", "Deployment", rolledOut, "", health.Current},
		{"an older generation", "Deployment", strings.Replace(rolledOut, "Generation: 2", "Generation: 1", 1), "", health.InProgress},
		{"stuck", "Deployment", "observedGeneration: 2, conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]", "", health.Failed},

		{"not started", "Job", "", "", health.InProgress},
		{"running", "Job", "startTime: '2026-01-01T00:00:00Z', active: 1", "", health.InProgress},
		{"suspended", "Job", "conditions: [{type: Suspended, status: 'True'}]", "", health.InProgress},
		{"complete", "Job", "startTime: '2026-01-01T00:00:00Z', succeeded: 1, conditions: [{type: Complete, status: 'True'}]", "", health.Current},
		{"failed", "Job", "startTime: '2026-01-01T00:00:00Z', failed: 1, conditions: [{type: Failed, status: 'True'}]", "", health.Failed},

		{"new", "CustomResourceDefinition", "", "", health.InProgress},
		{"named", "CustomResourceDefinition", "conditions: [{type: NamesAccepted, status: 'True'}]", "", health.InProgress},
		{"established", "CustomResourceDefinition", "conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]", "", health.Current},
		{"bad names", "CustomResourceDefinition", "conditions: [{type: NamesAccepted, status: 'False'}, {type: Established, status: 'True'}]", "", health.Failed},

		{"new", "APIService", "", "", health.InProgress},
		{"available", "APIService", "conditions: [{type: Available, status: 'True'}]", "", health.Current},
		{"unavailable", "APIService", "conditions: [{type: Available, status: 'False'}]", "", health.InProgress},

		{"no status", "Widget", "", "", health.Current},
		{"ready", "Widget", "conditions: [{type: Ready, status: 'True'}]", "", health.Current},
		{"not ready", "Widget", "conditions: [{type: Ready, status: 'False'}]", "", health.InProgress},
		{"unknown", "Widget", "conditions: [{type: Ready, status: Unknown}]", "", health.InProgress},
		{"an older generation", "Widget", "observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]", "", health.InProgress},
		{"reconciling", "Widget", "conditions: [{type: Reconciling, status: 'True'}, {type: Ready, status: 'True'}]", "", health.InProgress},
		{"stalled", "Widget", "conditions: [{type: Stalled, status: 'True'}]", "", health.Failed},

		{"generation to come", "Widget", "", "has-observed-generation", health.InProgress},
		{"generation seen", "Widget", "observedGeneration: 2", "has-observed-generation", health.Current},
		{"generation in the condition", "Widget", "conditions: [{type: Ready, status: 'True', observedGeneration: 2}]", "has-observed-generation", health.Current},
		{"older one in the condition", "Widget", "conditions: [{type: Ready, status: 'True', observedGeneration: 1}]", "has-observed-generation", health.InProgress},
		{"condition to come", "Widget", "", "has-ready-condition", health.InProgress},
		{"condition there", "Widget", "conditions: [{type: Ready, status: 'True'}]", "has-ready-condition", health.Current},
		{"both", "Widget", "observedGeneration: 2", "has-observed-generation,has-ready-condition", health.InProgress},
		{"both there", "Widget", "observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]", "has-observed-generation,has-ready-condition", health.Current},
		{"one of two", "Widget", "conditions: [{type: A, status: 'True'}]", "conditions=A;B", health.InProgress},
		{"two of two", "Widget", "conditions: [{type: A, status: 'True'}, {type: B, status: 'True'}]", "conditions=A;B", health.Current},
		{"one is false", "Widget", "conditions: [{type: A, status: 'True'}, {type: B, status: 'False'}]", "conditions=A;B", health.InProgress},
		{"more than Ready", "Widget", "conditions: [{type: Ready, status: 'True'}]", "conditions=A", health.InProgress},
		{"less than Ready", "Widget", "conditions: [{type: Ready, status: 'False'}, {type: A, status: 'True'}]", "conditions=A", health.InProgress},
	} {
		t.Run(c.kind+" "+c.name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			text := "{apiVersion: " + kinds[c.kind] + ", kind: " + c.kind + ", metadata: {name: x, generation: 2}, spec: {replicas: 1}, status: {" + c.status + "}}"
			if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
				t.Fatal(err)
			}
			var hints []string
			if c.hints != "" {
				hints = strings.Split(c.hints, ",")
			}
			got, why := health.Standard().Analyze(u, hints)
			if got != c.want {
				t.Errorf("it is %s (%s), not %s", got, why, c.want)
			}
			if err := unstructured.SetNestedField(u.Object, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp"); err != nil {
				t.Fatal(err)
			}
			if got, _ := health.Standard().Analyze(u, slices.Clone(hints)); got != health.Terminating {
				t.Errorf("it is %s when it is going away", got)
			}
		})
	}
}
