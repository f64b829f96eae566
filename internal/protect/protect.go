// Package protect is the admission policies that Weir installs, as values: the
// API server itself enforces them, so they hold while nothing of Weir runs and
// no webhook can be in the way of a cluster that starts.
//
// There are four. [Policies.Targets] keeps others off the objects that
// replications protect. [Policies.Tracking] keeps the marks true that say who
// manages an object: the first could not believe them otherwise.
// [Policies.Membership] asks who may put a namespace into a tenant, and
// [Policies.Generators] keeps objects from being attributed to ArtifactGenerators.
// None is evaluated for an object without the labels that it is about: the
// bindings select by label.
//
// Installing the policies is for package guard.
package protect

import (
	"slices"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// VerbBypass on a replication, or on ArtifactGenerators, lets its holder
	// through. A role must name it: the verb * does not count, for then every
	// cluster-admin would change protected objects by accident.
	VerbBypass = "bypass-protection"
	// VerbJoin on a tenant lets its holder put namespaces into it and take them
	// out.
	VerbJoin = "join"
)

// Policies says for which cluster the policies are.
type Policies struct {
	// Controller is the user name of Weir's controller, which no policy stops.
	Controller string
	// Exempt are the user names of others whom no policy stops: those of tools
	// that hold every right and so cannot be told by [VerbBypass], such as the
	// controller of Capsule or that of backups.
	Exempt []string
	// System are the namespaces that can be in no tenant, beside those of
	// [tenant.IsSystem].
	System []string
	// Capsule says that Capsule runs and itself asks who may join a tenant. Then
	// only the namespaces of the system are kept out.
	Capsule bool
}

// Guard is a policy and what binds it. The objects are new ones and complete:
// the API server adds no default to them.
type Guard struct {
	Policy   *v1.ValidatingAdmissionPolicy
	Bindings []*v1.ValidatingAdmissionPolicyBinding
}

// LabelPart is on all objects of guards.
const LabelPart = "app.kubernetes.io/part-of"

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{LabelPart: "weir"}}
}

// guard returns a guard named so of a specification that lacks what all have in
// common. Each selector gives a binding; they are named by keys.
func guard(name string, spec v1.ValidatingAdmissionPolicySpec, selectors map[string]metav1.LabelSelector) Guard {
	fail := v1.Fail
	spec.FailurePolicy = &fail
	g := Guard{Policy: &v1.ValidatingAdmissionPolicy{ObjectMeta: meta(name), Spec: spec}}
	for key, selector := range selectors {
		// The API server fills in the other fields if they are missing.
		equivalent := v1.Equivalent
		g.Bindings = append(g.Bindings, &v1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: meta(strings.TrimSuffix(name+"-"+key, "-")),
			Spec: v1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        name,
				ValidationActions: []v1.ValidationAction{v1.Deny},
				MatchResources: &v1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{},
					ObjectSelector:    &selector,
					MatchPolicy:       &equivalent,
				},
			},
		})
	}
	slices.SortFunc(g.Bindings, func(a, b *v1.ValidatingAdmissionPolicyBinding) int { return strings.Compare(a.Name, b.Name) })
	return g
}

// labelled selects what has the label, with one of the values if any are given, in the old or in the new object.
func labelled(key string, values ...string) metav1.LabelSelector {
	r := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists}
	if len(values) > 0 {
		r.Operator, r.Values = metav1.LabelSelectorOpIn, values
	}
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}}
}

// match says for which requests a policy is.
func match(groups, resources []string, operations ...v1.OperationType) *v1.MatchResources {
	scope, equivalent := v1.AllScopes, v1.Equivalent
	return &v1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{},
		ObjectSelector:    &metav1.LabelSelector{},
		MatchPolicy:       &equivalent,
		ResourceRules: []v1.NamedRuleWithOperations{{RuleWithOperations: v1.RuleWithOperations{
			Operations: operations,
			Rule:       v1.Rule{APIGroups: groups, APIVersions: []string{"*"}, Resources: resources, Scope: &scope},
		}}},
	}
}

// refuse is a validation: the request passes if the expression holds.
func refuse(unless, message, messageExpression string) v1.Validation {
	reason := metav1.StatusReasonForbidden
	return v1.Validation{Expression: unless, Message: message, MessageExpression: messageExpression, Reason: &reason}
}

// trusted is a list of the user names that no policy stops, in CEL.
func (p Policies) trusted() string {
	return list(append([]string{p.Controller}, p.Exempt...)...)
}
