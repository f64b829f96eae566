package testpod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

func TestOf(t *testing.T) {
	var d appsv1.Deployment
	err := yaml.Unmarshal([]byte(`
metadata: {name: weir, namespace: system}
spec:
  template:
    spec:
      serviceAccountName: robot
      containers:
        - args: [--events=http://events.$(NAMESPACE).svc, --pod=$(POD), --level=$(LEVEL)]
          env:
            - {name: LEVEL, value: info}
            - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
            - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
`), &d)
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{
		Program: "/bin/weir", Namespace: "system", Account: "robot", Storage: true,
		Args: []string{"--events=http://events.system.svc", "--pod=weir-0", "--level=info"},
		Env:  map[string]string{"LEVEL": "info", "NAMESPACE": "system", "POD": "weir-0"},
	}
	if diff := cmp.Diff(want, Of(&d, "/bin/weir")); diff != "" {
		t.Errorf("Of (-want +got):\n%s", diff)
	}
}

func TestKibibytes(t *testing.T) {
	const status = "Name:\tx\nVmHWM:\t  108500 kB\nVmRSS:\t   103916 kB\n"
	if got := kibibytes(status, "VmRSS:"); got != 103916<<10 {
		t.Errorf("VmRSS is %d", got)
	}
	if got := kibibytes(status, "VmSwap:"); got != 0 {
		t.Errorf("what is not there is %d", got)
	}
}
