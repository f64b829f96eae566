package protect

import (
	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/tenant"
)

// Membership returns the policy for who may put a namespace into a tenant, by
// label or by owner reference, or take it out of one: who holds [VerbJoin] on
// the tenant. A namespace that moves from one tenant to another needs it on
// both. Namespaces of the system join none, and none joins two, whoever asks.
func (p Policies) Membership() Guard {
	validations := []v1.Validation{refuse(
		`variables.joins.size() == 0 || !(object.metadata.name in `+list(append(tenant.System(), p.System...)...)+
			` || object.metadata.name.startsWith("`+tenant.SystemPrefix+`"))`,
		`a namespace of the system cannot be in a tenant`,
		`"namespace \"" + object.metadata.name + "\" is one of the system and cannot be in tenant \"" + variables.joins[0] + "\""`,
	), refuse(
		`variables.touched.size() == 0 || variables.now.all(t, t == variables.now[0])`,
		`a namespace can be in one tenant only`,
		`"namespace \"" + object.metadata.name + "\": its label and its owner references name the tenants " + variables.now.join(", ") + "; it can be in one only"`,
	)}
	if !p.Capsule {
		validations = append(validations, refuse(
			`request.userInfo.username in `+p.trusted()+` || variables.collects || variables.touched.size() <= 2 && variables.touched.all(t, `+
				`authorizer.group("capsule.clastix.io").resource("tenants").name(t).check("`+VerbJoin+`").allowed())`,
			`putting a namespace into a tenant or taking it out needs the verb `+VerbJoin+` on the tenant`,
			`request.userInfo.username + " may not put namespace \"" + object.metadata.name + "\" into tenant \"" + variables.touched[0] + `+
				`"\" or take it out; a role that allows it has the verb `+VerbJoin+` on tenants in the group capsule.clastix.io"`,
		))
	}
	return guard("weir-membership", v1.ValidatingAdmissionPolicySpec{
		// Labels can be changed through the subresources too.
		MatchConstraints: match([]string{""}, []string{"namespaces", "namespaces/*"}, v1.Create, v1.Update),
		Variables: []v1.Variable{
			variable("now", tenants, "object"),
			variable("before", `oldObject == null ? [] : `+tenants, "oldObject"),
			{Name: "joins", Expression: `variables.now.filter(t, !(t in variables.before))`},
			{Name: "touched", Expression: `variables.joins + variables.before.filter(t, !(t in variables.now))`},
			variable("collects", collects, ""),
		},
		Validations: validations,
	}, map[string]metav1.LabelSelector{"": {}})
}

const (
	// tenants are the names of the tenants that a namespace says it is in.
	tenants = `($.metadata.?labels[?"` + v1beta2.LabelTenant + `"].orValue("") == "" ? [] : [string($.metadata.labels["` + v1beta2.LabelTenant + `"])]) +
$.metadata.?ownerReferences.orValue([])
.filter(r, r.kind == "` + v1beta2.KindTenant + `" && r.apiVersion.startsWith("capsule.clastix.io/"))
.map(r, string(r.name))`

	// collects says that the garbage collector takes off references to a tenant
	// that is gone.
	collects = `variables.joins.size() == 0 &&
request.userInfo.username in ["system:kube-controller-manager", "system:serviceaccount:kube-system:generic-garbage-collector"]`
)
