package protect

import (
	"strconv"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/protect/mark"
)

// list returns the strings as a list in CEL.
func list(values ...string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// variable names an expression, in which every $ is the given object: object or
// oldObject.
func variable(name, expression, of string) v1.Variable {
	return v1.Variable{Name: name, Expression: strings.ReplaceAll(strings.TrimSpace(expression), "$", of)}
}

const (
	// self is the object as records name it: see [mark.Target]. The name of an
	// object to be created may be missing.
	self = `$.kind + ($.apiVersion.contains("/") ? "." + $.apiVersion.split("/")[0] : "") +
"/" + $.metadata.?namespace.orValue("") + "/" + $.metadata.?name.orValue("")`

	// records are the annotations key=value that name the managers of the object
	// itself. The variable self holds its name.
	records = `$.metadata.?annotations.orValue({})
.filter(k, k.startsWith("` + mark.Prefix + `") && string($.metadata.annotations[k]).endsWith(" " + variables.self))
.map(k, k + "=" + string($.metadata.annotations[k]))`

	// vouched is the replication that the controller acts for, or empty.
	vouched = `request.userInfo.?extra[?"` + mark.Extra + `"].orValue([]).size() == 1 ?
string(request.userInfo.extra["` + mark.Extra + `"][0]) : ""`

	// key is what a right to bypass is about: the replication that alone manages
	// the object, and where there are several or none, all GlobalTenantResources.
	// More questions would cost more than the API server grants to an expression.
	key = `variables.managers.size() == 1 && variables.managers[0].startsWith("` + v1beta2.KindTenantResource + `/") ?
authorizer.group("capsule.clastix.io").resource("tenantresources")
.namespace(variables.managers[0].split("/")[1]).name(variables.managers[0].split("/")[2]) :
variables.managers.size() == 1 ?
authorizer.group("capsule.clastix.io").resource("globaltenantresources").name(variables.managers[0].split("/")[1]) :
authorizer.group("capsule.clastix.io").resource("globaltenantresources")`

	// bypass says that a role of the user names the verb, and none gives all.
	bypass = `variables.key.check("` + VerbBypass + `").allowed() && !variables.key.check("*").allowed()`

	// managed ends a message.
	managed = `" is managed by a replication: " + variables.managers.min() +
(variables.managers.size() > 1 ? " and " + string(variables.managers.size() - 1) + " more" : "")`
)
