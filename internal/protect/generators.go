package protect

import (
	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// Generators returns the policy that refuses to all but the controller, and
// holders of [VerbBypass] on ArtifactGenerators, to attribute a namespace or an
// ExternalArtifact to an ArtifactGenerator: it would be pruned with it. Taking
// the labels off stays free, and is set right by the controller.
func (p Policies) Generators() Guard {
	return guard("weir-generators", v1.ValidatingAdmissionPolicySpec{
		MatchConstraints: match([]string{"", "source.toolkit.fluxcd.io"},
			[]string{"namespaces", "namespaces/*", "externalartifacts", "externalartifacts/*"}, v1.Create, v1.Update),
		MatchConditions: []v1.MatchCondition{{Name: "others", Expression: `!(request.userInfo.username in ` + p.trusted() + `)`}},
		Variables: []v1.Variable{
			{Name: "now", Expression: `object.metadata.?labels.orValue({})`},
			{Name: "before", Expression: `oldObject == null ? {} : oldObject.metadata.?labels.orValue({})`},
			{Name: "key", Expression: `authorizer.group("` + v1beta1.GroupVersion.Group + `").resource("artifactgenerators")`},
			{Name: "bypass", Expression: bypass},
		},
		Validations: []v1.Validation{refuse(
			`!("`+v1beta1.LabelGenerator+`" in variables.now) || `+list(v1beta1.LabelGenerator, v1beta1.LabelManagedBy)+
				`.all(k, !(k in variables.now) || k in variables.before && variables.now[k] == variables.before[k]) || variables.bypass`,
			`only the controller of Weir says that an object is of an ArtifactGenerator: leave out the labels `+
				v1beta1.LabelGenerator+` and `+v1beta1.LabelManagedBy, ``,
		)},
	}, map[string]metav1.LabelSelector{"": labelled(v1beta1.LabelGenerator)})
}
