package health

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rules judge the built-in kinds.
var rules = map[schema.GroupKind]func(view) (Status, string){
	{Kind: "ConfigMap"}:                                               always,
	{Kind: "Secret"}:                                                  always,
	{Kind: "Namespace"}:                                               namespace,
	{Kind: "Pod"}:                                                     pod,
	{Kind: "PersistentVolumeClaim"}:                                   phase("Bound"),
	{Kind: "Service"}:                                                 service,
	{Group: "apps", Kind: "Deployment"}:                               deployment,
	{Group: "apps", Kind: "StatefulSet"}:                              statefulSet,
	{Group: "apps", Kind: "DaemonSet"}:                                daemonSet,
	{Group: "apps", Kind: "ReplicaSet"}:                               replicaSet,
	{Group: "batch", Kind: "Job"}:                                     job,
	{Group: "batch", Kind: "CronJob"}:                                 always,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                    disruptionBudget,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: definition,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             apiService,
}

func always(view) (Status, string) { return Current, "" }

func namespace(o view) (Status, string) {
	if o.text("status", "phase") == "Terminating" {
		return Terminating, "the namespace is going away"
	}
	return Current, ""
}

func phase(want string) func(view) (Status, string) {
	return func(o view) (Status, string) {
		if p := o.text("status", "phase"); p != want {
			return InProgress, fmt.Sprintf("phase is %q and not %s", p, want)
		}
		return Current, ""
	}
}

func service(o view) (Status, string) {
	if o.text("spec", "type") == "LoadBalancer" && o.text("spec", "clusterIP") == "" {
		return InProgress, "the service has no cluster IP yet"
	}
	return Current, ""
}

func pod(o view) (Status, string) {
	ready := o.condition("Ready")
	switch p := o.text("status", "phase"); p {
	case "Succeeded":
		return Current, "the pod has completed"
	case "Failed":
		return Failed, ready.text("the pod has failed")
	case "Running":
		if ready.status == "True" {
			return Current, ""
		}
		return crashing(o, ready)
	default:
		if c := o.condition("PodScheduled"); c.status == "False" && c.reason == "Unschedulable" {
			return InProgress, c.text("the pod cannot be scheduled")
		}
		return InProgress, fmt.Sprintf("phase is %q", p)
	}
}

func crashing(o view, ready condition) (Status, string) {
	for _, c := range o.list("status", "containerStatuses") {
		if r := (view{c}).text("state", "waiting", "reason"); r == "CrashLoopBackOff" {
			return Failed, fmt.Sprintf("container %s is crashing", view{c}.text("name"))
		}
	}
	return InProgress, ready.text("the pod is not ready")
}

// counts compares numbers of status with those wanted, in the order given.
func counts(want int64, steps ...count) (Status, string) {
	for _, s := range steps {
		if s.have < want {
			return InProgress, fmt.Sprintf("%d of %d replicas are %s", s.have, want, s.what)
		}
	}
	return Current, ""
}

type count struct {
	what string
	have int64
}

func deployment(o view) (Status, string) {
	if c := o.condition("Progressing"); c.reason == "ProgressDeadlineExceeded" {
		return Failed, c.text("the progress deadline is exceeded")
	}
	if c := o.condition("Progressing"); c.reason != "NewReplicaSetAvailable" && o.number("spec", "progressDeadlineSeconds") != math.MaxInt32 {
		return InProgress, c.text("the new replica set is not available")
	}
	want := o.or(1, "spec", "replicas")
	all, updated := o.number("status", "replicas"), o.number("status", "updatedReplicas")
	s, m := counts(want, count{"created", all}, count{"updated", updated})
	if s != Current {
		return s, m
	}
	if all > want {
		return InProgress, fmt.Sprintf("%d old replicas are left", all-want)
	}
	s, m = counts(want, count{"available", o.number("status", "availableReplicas")},
		count{"ready", o.number("status", "readyReplicas")})
	if s == Current && want > 0 && o.condition("Available").status != "True" {
		return InProgress, o.condition("Available").text("condition Available is not True")
	}
	return s, m
}

func statefulSet(o view) (Status, string) {
	if o.text("spec", "updateStrategy", "type") == "OnDelete" {
		return Current, "updated when pods are deleted"
	}
	want := o.or(1, "spec", "replicas")
	s, m := counts(want, count{"created", o.number("status", "replicas")}, count{"ready", o.number("status", "readyReplicas")})
	if s != Current {
		return s, m
	}
	if extra := o.number("status", "replicas") - want; extra > 0 {
		return InProgress, fmt.Sprintf("%d old replicas are left", extra)
	}
	if part, ok := o.maybe("spec", "updateStrategy", "rollingUpdate", "partition"); ok && part > 0 {
		return counts(want-part, count{"updated", o.number("status", "updatedReplicas")})
	}
	if s, m = counts(want, count{"current", o.number("status", "currentReplicas")}); s != Current {
		return s, m
	}
	if o.text("status", "currentRevision") != o.text("status", "updateRevision") {
		return InProgress, "the new revision is not complete"
	}
	return Current, ""
}

func daemonSet(o view) (Status, string) {
	if _, ok := o.maybe("status", "observedGeneration"); !ok {
		return InProgress, "no generation is observed yet"
	}
	if o.text("spec", "updateStrategy", "type") == "OnDelete" {
		return Current, "updated when pods are deleted"
	}
	want, ok := o.maybe("status", "desiredNumberScheduled")
	if !ok {
		return InProgress, "no pods are scheduled yet"
	}
	return counts(want, count{"scheduled", o.number("status", "currentNumberScheduled")},
		count{"updated", o.number("status", "updatedNumberScheduled")},
		count{"available", o.number("status", "numberAvailable")},
		count{"ready", o.number("status", "numberReady")})
}

func replicaSet(o view) (Status, string) {
	if c := o.condition("ReplicaFailure"); c.status == "True" {
		return InProgress, c.text("pods cannot be created")
	}
	want := o.or(1, "spec", "replicas")
	s, m := counts(want, count{"labelled", o.number("status", "fullyLabeledReplicas")},
		count{"available", o.number("status", "availableReplicas")},
		count{"ready", o.number("status", "readyReplicas")})
	if extra := o.number("status", "replicas") - want; s == Current && extra > 0 {
		return InProgress, fmt.Sprintf("%d old replicas are left", extra)
	}
	return s, m
}

// job waits for the end of the job; one that was only started is not ready.
func job(o view) (Status, string) {
	if c := o.condition("Failed"); c.status == "True" {
		return Failed, c.text("the job has failed")
	}
	if o.condition("Complete").status == "True" {
		return Current, "the job has completed"
	}
	if o.flag("spec", "suspend") {
		return InProgress, "the job is suspended"
	}
	return InProgress, "the job has not ended"
}

func disruptionBudget(o view) (Status, string) {
	if _, ok := o.maybe("status", "observedGeneration"); !ok {
		return InProgress, "no generation is observed yet"
	}
	have, want := o.number("status", "currentHealthy"), o.number("status", "desiredHealthy")
	if have < want {
		return InProgress, fmt.Sprintf("%d of %d pods are healthy", have, want)
	}
	return Current, ""
}

func definition(o view) (Status, string) {
	for _, name := range []string{"NamesAccepted", "Established"} {
		c := o.condition(name)
		switch {
		case name == "NamesAccepted" && c.status == "False":
			return Failed, c.text("the names are not accepted")
		case c.status != "True":
			return InProgress, c.text("the kind is not established yet")
		}
	}
	return Current, ""
}

func apiService(o view) (Status, string) {
	if c := o.condition("Available"); c.status != "True" {
		return InProgress, c.text("the API is not available yet")
	}
	return Current, ""
}
