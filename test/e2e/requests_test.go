package e2e_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/weir-dev/weir/internal/testcluster"
)

func (s *script) requests(c call) error {
	if len(c.args) != 1 {
		return fmt.Errorf("%w: requests FILE", errUsage)
	}
	var out strings.Builder
	for _, e := range s.audit.Events(s.t, testcluster.Query{User: s.controller.User()}) {
		fmt.Fprintf(&out, "%s %s", e.Verb, about(e.Group, e.Resource, e.Subresource, e.Namespace, e.Name))
		if e.As != "" {
			fmt.Fprintf(&out, " as %s", e.As)
		}
		if r := e.Review; r != nil {
			fmt.Fprintf(&out, ": %s %s %s", r.User, r.Verb, about(r.Group, r.Resource, r.Subresource, r.Namespace, r.Name))
		}
		fmt.Fprintln(&out)
	}
	return os.WriteFile(c.path(c.args[0]), []byte(out.String()), 0o644)
}

// about names the objects of a request.
func about(group, resource, subresource, namespace, name string) string {
	if group != "" {
		resource += "." + group
	}
	if subresource != "" {
		resource += "/" + subresource
	}
	return fmt.Sprintf("%s %s/%s", resource, namespace, name)
}
