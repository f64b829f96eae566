package protect

import (
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/protect/mark"
)

// Tracking returns the policy that refuses to all but the controller to set,
// change or remove the labels and annotations of package mark, through
// subresources too. Acting as another account for a replication, the controller
// can change the record of no other replication, and record no other account.
//
// Others may put copies of the labels on objects that a controller has made from
// a managed one, such as the endpoints of a Service, and take labels off an
// object that no replication has recorded itself on.
func (p Policies) Tracking() Guard {
	selectors := map[string]metav1.LabelSelector{}
	for name, key := range map[string]string{
		"managed": v1beta2.LabelManagedBy, "created": v1beta2.LabelCreatedBy,
		"protected": v1beta2.LabelProtected, "protected-by": v1beta2.LabelProtectedBy, "resources": v1beta2.LabelResources,
	} {
		selectors[name] = labelled(key)
		if !mark.IsTracking(key, "") {
			selectors[name] = labelled(key, v1beta2.ValueResources, v1beta2.ValueReplications)
		}
	}
	return guard("weir-tracking", v1.ValidatingAdmissionPolicySpec{
		MatchConstraints: match([]string{"*"}, []string{"*/*"}, v1.Create, v1.Update),
		Variables: []v1.Variable{
			variable("self", self, "object"),
			variable("labelsNow", tracking, "object"),
			variable("labelsBefore", `oldObject == null ? [] : `+tracking, "oldObject"),
			variable("recordsNow", records, "object"),
			variable("recordsBefore", `oldObject == null ? [] : `+records, "oldObject"),
			{Name: "added", Expression: `variables.recordsNow.filter(r, !(r in variables.recordsBefore))`},
			{Name: "removed", Expression: `variables.recordsBefore.filter(r, !(r in variables.recordsNow))`},
			variable("vouched", vouched, ""),
			{Name: "managers", Expression: `(variables.recordsBefore + variables.added).map(r, r.split("=", 2)[1].split(" ")[0])`},
			variable("same", same, ""),
			variable("vouches", vouches, ""),
			variable("harmless", harmless, ""),
			variable("key", key, ""),
			{Name: "bypass", Expression: bypass},
		},
		Validations: []v1.Validation{
			refuse(`variables.same || request.userInfo.username in `+p.trusted()+` || variables.vouches || variables.harmless || variables.bypass`,
				`only the controller of Weir says that an object is managed by a replication: leave out the labels `+
					strings.Join(mark.Labels(), ", ")+` and the annotations under `+mark.Prefix,
				`variables.recordsBefore.size() == 0 ? "" : request.resource.resource + " \"" + object.metadata.name + "\"" + `+managed+` + `+
					`"; only the controller of Weir changes the labels and annotations that say so"`),
			refuse(`oldObject == null || variables.labelsNow.size() == 0 || variables.labelsBefore.size() > 0 || variables.recordsBefore.size() == 0`,
				`this object is managed by nobody and has annotations under `+mark.Prefix+` that say otherwise; remove them first`, ``),
		},
	}, selectors)
}

var (
	// tracking are the labels key=value that track an object, in the order of
	// their keys.
	tracking = list(mark.Labels()...) + `.filter(k, k in $.metadata.?labels.orValue({}) &&
(!(k in ` + list(v1beta2.LabelManagedBy, v1beta2.LabelCreatedBy) + `) ||
$.metadata.labels[k] in ` + list(v1beta2.ValueResources, v1beta2.ValueReplications) + `))
.map(k, k + "=" + string($.metadata.labels[k]))`
)

const (
	same = `variables.labelsNow == variables.labelsBefore && variables.added.size() == 0 && variables.removed.size() == 0`

	// vouches says that the controller acts for a replication and touches no
	// other's record.
	vouches = `variables.vouched != "" &&
variables.added.all(r, r.endsWith("=" + variables.vouched + " " + request.userInfo.username + " " + variables.self)) &&
variables.removed.all(r, r.split("=", 2)[1].startsWith(variables.vouched + " "))`

	// harmless says that no replication is or was recorded, so that the labels
	// protect nothing, and that they are removed or may be copies. The cluster's
	// own controllers do not say which object they copy from.
	harmless = `variables.recordsNow.size() == 0 && variables.recordsBefore.size() == 0 && (
variables.labelsNow.all(l, l in variables.labelsBefore) ||
request.userInfo.username == "system:kube-controller-manager" ||
request.userInfo.username.startsWith("system:serviceaccount:kube-system:") ||
object.metadata.?ownerReferences.orValue([]).exists(r, r.?controller.orValue(false)))`
)
