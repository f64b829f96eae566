package health_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/pkg/reconciler/health"
)

// R94: the table of kinds and hints.
func TestR94Standard(t *testing.T) {
	const dep = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, generation: 2}\n"
	const rolled = "status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1, conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]}"
	const foo = "apiVersion: example.org/v1\nkind: Foo\nmetadata: {name: a, generation: 2}\n"
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n"
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n"
	cases := map[string]struct {
		text  string
		hints []string
		want  health.Status
	}{
		"config map":              {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", nil, health.Current},
		"terminating":             {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, deletionTimestamp: '2026-01-01T00:00:00Z'}", nil, health.Terminating},
		"terminating namespace":   {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nstatus: {phase: Terminating}", nil, health.Terminating},
		"deployment, new":         {dep, nil, health.InProgress},
		"deployment, rolled out":  {dep + rolled, nil, health.Current},
		"deployment, unobserved":  {dep + "status: {observedGeneration: 1}", nil, health.InProgress},
		"deployment, stuck":       {dep + "status: {observedGeneration: 2, conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}", nil, health.Failed},
		"stateful set, new":       {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}", nil, health.InProgress},
		"daemon set, no nodes":    {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a, generation: 1}\nstatus: {observedGeneration: 1, desiredNumberScheduled: 0}", nil, health.Current},
		"job, started":            {job + "status: {active: 1, startTime: '2026-01-01T00:00:00Z'}", nil, health.InProgress},
		"job, suspended":          {job + "spec: {suspend: true}", nil, health.InProgress},
		"job, complete":           {job + "status: {conditions: [{type: Complete, status: 'True'}]}", nil, health.Current},
		"job, failed":             {job + "status: {conditions: [{type: Failed, status: 'True', message: backoff}]}", nil, health.Failed},
		"crd, new":                {crd, nil, health.InProgress},
		"crd, accepted":           {crd + "status: {conditions: [{type: NamesAccepted, status: 'True'}]}", nil, health.InProgress},
		"crd, established":        {crd + "status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]}", nil, health.Current},
		"crd, names taken":        {crd + "status: {conditions: [{type: NamesAccepted, status: 'False'}]}", nil, health.Failed},
		"api service":             {"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: a}\nstatus: {conditions: [{type: Available, status: 'False'}]}", nil, health.InProgress},
		"claim, pending":          {"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nstatus: {phase: Pending}", nil, health.InProgress},
		"pod, crashing":           {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: {phase: Running, containerStatuses: [{name: c, state: {waiting: {reason: CrashLoopBackOff}}}]}", nil, health.Failed},
		"custom, no status":       {foo, nil, health.Current},
		"custom, ready":           {foo + "status: {conditions: [{type: Ready, status: 'True'}]}", nil, health.Current},
		"custom, not ready":       {foo + "status: {conditions: [{type: Ready, status: 'False'}]}", nil, health.InProgress},
		"custom, reconciling":     {foo + "status: {conditions: [{type: Reconciling, status: 'True'}]}", nil, health.InProgress},
		"custom, stalled":         {foo + "status: {conditions: [{type: Stalled, status: 'True'}]}", nil, health.Failed},
		"hint: ready":             {foo, []string{"has-ready-condition"}, health.InProgress},
		"hint: observed":          {foo, []string{"has-observed-generation"}, health.InProgress},
		"hint: observed by ready": {foo + "status: {conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}", []string{"has-observed-generation"}, health.Current},
		"hint: conditions":        {foo + "status: {conditions: [{type: A, status: 'True'}]}", []string{"conditions=A;B"}, health.InProgress},
		"hint: conditions true":   {foo + "status: {conditions: [{type: A, status: 'True'}, {type: B, status: 'True'}]}", []string{"conditions=A;B"}, health.Current},
	}
	for name, c := range cases {
		u := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(c.text))
		if err != nil {
			t.Fatal(name, err)
		}
		if err := u.UnmarshalJSON(data); err != nil {
			t.Fatal(name, err)
		}
		if got, message := health.Standard().Analyze(u, c.hints); got != c.want || got != health.Current && message == "" {
			t.Errorf("%s: %s %q, want %s", name, got, message, c.want)
		}
	}
}

func FuzzStandard(f *testing.F) {
	f.Add("apps/v1", "Deployment", `{"status":{"conditions":[{"type":"Ready"}],"replicas":"x"},"spec":[]}`)
	f.Fuzz(func(t *testing.T, version, kind, text string) {
		u := &unstructured.Unstructured{}
		if yaml.Unmarshal([]byte(text), &u.Object) != nil || u.Object == nil {
			return
		}
		if _, ok := u.Object["metadata"].(map[string]any); !ok {
			delete(u.Object, "metadata")
		}
		u.SetAPIVersion(version)
		u.SetKind(kind)
		for _, hints := range [][]string{nil, {"has-ready-condition", "has-observed-generation", "conditions=A;B"}} {
			if s, _ := health.Standard().Analyze(u, hints); s == "" {
				t.Error("no status")
			}
		}
	})
}
