package testpod

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
)

// Of returns how the first container of the Deployment's pods would run the
// program, which keeps and serves artifacts.
func Of(d *appsv1.Deployment, program string) Spec {
	pod := d.Spec.Template.Spec
	s := Spec{Program: program, Namespace: d.Namespace, Account: pod.ServiceAccountName, Env: variables(d), Storage: true}
	for _, arg := range pod.Containers[0].Args {
		for name, value := range s.Env {
			arg = strings.ReplaceAll(arg, "$("+name+")", value)
		}
		s.Args = append(s.Args, arg)
	}
	return s
}

// variables returns the environment of the pod's first container.
func variables(d *appsv1.Deployment) map[string]string {
	vars := map[string]string{}
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		vars[v.Name] = v.Value
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			vars[v.Name] = field(d, v.ValueFrom.FieldRef)
		}
	}
	return vars
}

func field(d *appsv1.Deployment, ref *v1.ObjectFieldSelector) string {
	switch ref.FieldPath {
	case "metadata.namespace":
		return d.Namespace
	case "metadata.name":
		return d.Name + "-0"
	case "spec.serviceAccountName":
		return d.Spec.Template.Spec.ServiceAccountName
	}
	return ""
}
