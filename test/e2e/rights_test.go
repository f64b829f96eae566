package e2e_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/testcluster"
)

// unused are the rights that scripts need not use, as patterns of "VERB
// RESOURCE.GROUP", with the reason why the controller has them.
var unused = map[string]string{
	"list *":                         "API servers that do not stream lists to watches have to be asked",
	"get artifactgenerators.*":       "read anew when somebody else wrote at the same time",
	"get buckets.*":                  "read with the gate DirectSourceFetch",
	"get gitrepositories.*":          "read with the gate DirectSourceFetch",
	"get helmcharts.*":               "read with the gate DirectSourceFetch",
	"get ocirepositories.*":          "read with the gate DirectSourceFetch",
	"create externalartifacts.*":     "an apply that creates is a patch in the audit log, and authorised as both",
	"create namespaces.":             "an apply that creates is a patch in the audit log, and authorised as both",
	"patch events.events.k8s.io":     "written when an event repeats within minutes",
	"get globaltenantresources.*":    "read anew when somebody else wrote at the same time",
	"get tenantresources.*":          "read anew when somebody else wrote at the same time",
	"create configmaps.":             "for replications whose record is too large for a status",
	"update configmaps.":             "for replications whose record is too large for a status",
	"delete configmaps.":             "for replications whose record is too large for a status",
	"impersonate *":                  "no request of its own in the audit log",
	"impersonate userextras/*/*":     "no request of its own in the audit log",
	"get validatingadmissionpol*":    "read anew when somebody else wrote at the same time",
	"update validatingadmissionpol*": "written when somebody else has changed them, or by the next release",
	"delete validatingadmissionpol*": "written with --protection=none",
}

// itself is what the namespaces of a script begin with in which replications act
// as the controller, which has no right on content.
const itself = "r44-"

// rights holds the rights that config/rbac gives the controller to what it asks
// the API server for while scripts are played: nothing is refused, and nothing
// is granted that is never used. An API server that has just been restarted
// refuses everything until it has read the roles.
func (s *stage) rights(t *testing.T, audit *testcluster.Audit) {
	t.Helper()
	used, granted := map[string]bool{}, s.granted(t)
	for _, e := range audit.Events(t, testcluster.Query{User: s.controller.User()}) {
		if e.Resource == "" {
			continue // discovery
		}
		if e.As != "" || strings.HasPrefix(e.Namespace, itself) {
			continue // by the rights of a replication's account
		}
		r := right(e.Verb, e.Resource, e.Subresource, e.Group)
		if e.Code == 403 && !terminating(e) && !strings.HasPrefix(granted[r], "ClusterRole ") {
			t.Errorf("the controller may not %s: %s", r, e.URI)
		}
		used[r] = true
	}
	excused := map[string]bool{}
	for _, r := range slices.Sorted(maps.Keys(granted)) {
		listed := false
		for pattern := range unused {
			if ok, err := path.Match(pattern, r); err != nil {
				t.Fatal(err)
			} else if ok {
				listed, excused[pattern] = true, true
			}
		}
		if !used[r] && !listed {
			t.Errorf("%s lets the controller %s, which it never does", granted[r], r)
		}
	}
	for pattern := range unused {
		if !excused[pattern] {
			t.Errorf("nothing that is granted is %q", pattern)
		}
	}
}

// terminating reports whether a request was refused because its namespace goes
// away, which the API server calls forbidden.
func terminating(e testcluster.Event) bool { return e.Verb == "create" && e.Namespace != "" }

// granted returns the rights of the controller with the role that grants each.
func (s *stage) granted(t *testing.T) map[string]string {
	t.Helper()
	namespace := strings.Split(s.controller.User(), ":")[2]
	rules := map[string][]rbacv1.PolicyRule{}
	for _, name := range []string{"weir-controller", "weir-controller-replications"} {
		var whole rbacv1.ClusterRole
		if err := s.client.Get(t.Context(), client.ObjectKey{Name: name}, &whole); err != nil {
			t.Fatal(err)
		}
		rules["ClusterRole "+whole.Name] = whole.Rules
	}
	var roles rbacv1.RoleList
	if err := s.client.List(t.Context(), &roles, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for _, r := range roles.Items {
		rules["Role "+r.Name] = r.Rules
	}
	out := map[string]string{}
	for role, list := range rules {
		for _, rule := range list {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						resource, sub, _ := strings.Cut(resource, "/")
						out[right(verb, resource, sub, group)] = role
					}
				}
			}
		}
	}
	return out
}

func right(verb, resource, sub, group string) string {
	if sub != "" {
		resource += "/" + sub
	}
	return fmt.Sprintf("%s %s.%s", verb, resource, group)
}
