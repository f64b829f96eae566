// Package protect is the admission policies of Weir as values: what the API
// server itself refuses, whether Weir runs or not. It installs nothing.
package protect

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Policy is an admission policy with the binding that puts it into force.
type Policy struct {
	Policy  *admissionv1.ValidatingAdmissionPolicy
	Binding *admissionv1.ValidatingAdmissionPolicyBinding
}

// policy returns a policy that denies what its spec refuses, everywhere. It
// fails closed: what cannot be evaluated is refused.
func policy(name string, spec admissionv1.ValidatingAdmissionPolicySpec) Policy {
	fail := admissionv1.Fail
	spec.FailurePolicy = &fail
	about := metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": "weir"}}
	kind := func(k string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: k}
	}
	return Policy{
		Policy: &admissionv1.ValidatingAdmissionPolicy{TypeMeta: kind("ValidatingAdmissionPolicy"), ObjectMeta: about, Spec: spec},
		Binding: &admissionv1.ValidatingAdmissionPolicyBinding{
			TypeMeta: kind("ValidatingAdmissionPolicyBinding"), ObjectMeta: *about.DeepCopy(),
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		},
	}
}
