package protect

import (
	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// Targets returns the policy that refuses updates and deletions of protected
// objects, of every kind, to all but
//
//   - the controller and the exempt,
//   - the controller as any account, for a replication that manages the object,
//   - the accounts that write for those replications,
//   - holders of [VerbBypass] on them.
//
// It lets everybody delete in a namespace that goes away, let go of an object
// that is being deleted already, and write what changes nothing. Subresources
// are not its matter.
func (p Policies) Targets() Guard {
	return guard("weir-protection", v1.ValidatingAdmissionPolicySpec{
		MatchConstraints: match([]string{"*"}, []string{"*"}, v1.Update, v1.Delete),
		MatchConditions: []v1.MatchCondition{
			{Name: "others", Expression: `!(request.userInfo.username in ` + p.trusted() + `)`},
			// A label that is being added protects from the next request on.
			{Name: "protected", Expression: `"` + v1beta2.LabelProtected + `" in oldObject.metadata.?labels.orValue({})`},
		},
		Variables: []v1.Variable{
			variable("self", self, "oldObject"),
			variable("records", records, "oldObject"),
			variable("vouched", vouched, ""),
			{Name: "managers", Expression: `variables.records.map(r, r.split("=", 2)[1].split(" ")[0])`},
			{Name: "accounts", Expression: `variables.records.map(r, r.split("=", 2)[1].split(" ")[1])`},
			variable("leaving", leaving, ""),
			variable("letsGo", letsGo, ""),
			variable("key", key, ""),
			{Name: "bypass", Expression: bypass},
		},
		Validations: []v1.Validation{refuse(
			// Without a record the label is a copy, made by a controller from the
			// label of a parent, or another program's.
			`variables.records.size() == 0 || variables.vouched in variables.managers ||
request.userInfo.username in variables.accounts || variables.leaving || variables.letsGo ||
(request.operation == "UPDATE" && object == oldObject) || variables.bypass`,
			`this object is managed by a replication; change that one, or ask who may`,
			`request.resource.resource + " \"" + oldObject.metadata.name + "\"" + `+managed+` + `+
				`"; change that, or ask who may edit it"`,
		)},
	}, map[string]metav1.LabelSelector{"": labelled(v1beta2.LabelProtected)})
}

const (
	// leaving says that the object goes with its namespace.
	leaving = `request.operation == "DELETE" && namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp)`

	// letsGo says that the object is being deleted already, which somebody was
	// allowed to ask for, and that the request does nothing but let it go. A
	// finalizer of another controller would else hold it forever.
	letsGo = `has(oldObject.metadata.deletionTimestamp) && (request.operation == "DELETE" ||
dyn(oldObject).all(k, k in dyn(object)) &&
dyn(object).all(k, k == "metadata" || k in dyn(oldObject) && dyn(object)[k] == dyn(oldObject)[k]) &&
dyn(oldObject.metadata).all(k, k == "finalizers" || k in dyn(object.metadata)) &&
dyn(object.metadata).all(k, k in ["finalizers", "managedFields", "resourceVersion"] ||
  k in dyn(oldObject.metadata) && dyn(object.metadata)[k] == dyn(oldObject.metadata)[k]) &&
object.metadata.?finalizers.orValue([]).all(f, f in oldObject.metadata.?finalizers.orValue([])))`
)
