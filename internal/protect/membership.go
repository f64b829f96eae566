package protect

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// VerbAssign is the verb of RBAC on tenants that lets its holder bring
// namespaces into the tenants and take them out.
const VerbAssign = "assign"

// tenantsOf is CEL for the tenants that a namespace names, by its label and its
// owner references.
func tenantsOf(namespace string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "LABEL", v1beta2.LabelTenant, "GROUP", v1beta2.GroupVersion.Group).Replace(
		`NAMESPACE == null ? [] : (
			(NAMESPACE.?metadata.labels["LABEL"].orValue("") == "" ? [] : [NAMESPACE.metadata.labels["LABEL"]]) +
			NAMESPACE.?metadata.ownerReferences.orValue([])
				.filter(r, r.kind == "Tenant" && r.apiVersion.startsWith("GROUP/")).map(r, r.name))`)
}

// Membership returns the policy that guards who is in a tenant: a namespace
// joins or leaves one only by somebody who may [VerbAssign] that tenant, names
// no two, and is none of the system. Status and finalize are guarded too, for
// they can change metadata.
//
// It is for clusters without Capsule, which has its own guard and brings
// namespaces in on behalf of owners.
func Membership() Policy {
	check := `authorizer.group("` + v1beta2.GroupVersion.Group + `").resource("tenants").name(t).check("` + VerbAssign + `").allowed()`
	return policy("tenant-membership.weir.dev", admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule: admissionv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"*"},
					Resources: []string{"namespaces", "namespaces/status", "namespaces/finalize"},
				},
			},
		}}},
		Variables: []admissionv1.Variable{
			{Name: "is", Expression: tenantsOf("object")},
			{Name: "was", Expression: tenantsOf("oldObject")},
			{Name: "changed", Expression: `variables.is.filter(t, !(t in variables.was)) + variables.was.filter(t, !(t in variables.is))`},
		},
		Validations: []admissionv1.Validation{
			{
				Expression: `variables.is.all(t, t in variables.was) || !(object.metadata.name == "default" || object.metadata.name.startsWith("kube-"))`,
				Message:    "a namespace of the system cannot be in a tenant",
			},
			{
				Expression: `variables.changed.size() == 0 || variables.is.all(t, t == variables.is[0])`,
				Message:    "the namespace names several tenants by its label and owner references; it can be in one only",
			},
			{
				Expression:        `variables.changed.all(t, ` + check + `)`,
				Message:           "who changes the tenant of a namespace must be allowed to " + VerbAssign + " that tenant",
				MessageExpression: `"who changes the tenant of a namespace must be allowed to ` + VerbAssign + ` that tenant; not allowed for one of: " + variables.changed.join(", ")`,
			},
		},
	})
}
