package namespace_test

import (
	"strings"
	"testing"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/metadata"
	"github.com/weir-dev/weir/internal/namespace"
)

// The cases of policies at work are those of packages recipe and build.

func compile(t *testing.T, names ...string) *namespace.Policy {
	t.Helper()
	p, err := namespace.Compile(&v1beta1.ManagedNamespaces{AllowedNames: names}, metadata.Set{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAdmit(t *testing.T) {
	for name, c := range map[string]struct {
		names     []string
		namespace string
		want      string // part of the error; empty for none
	}{
		"R61 the first":              {[]string{"ns == 'a'", "ns == 'b'"}, "a", ""},
		"R61 the second":             {[]string{"ns == 'a'", "ns == 'b'"}, "b", ""},
		"R63 none":                   {[]string{"ns == 'a'", "ns == 'b'"}, "c", "accepted by none"},
		"R64 default":                {[]string{"true"}, "default", "reserved"},
		"R64 kube-system":            {[]string{"true"}, "kube-system", "reserved"},
		"R64 kube-public":            {[]string{"true"}, "kube-public", "reserved"},
		"R64 flux-system":            {[]string{"true"}, "flux-system", "reserved"},
		"Q5 kube-node-lease":         {[]string{"true"}, "kube-node-lease", ""},
		"an expression that fails":   {[]string{"1 / (ns.size() - 1) == 1"}, "a", "division by zero"},
		"one that fails, one passes": {[]string{"1 / (ns.size() - 1) == 1", "true"}, "a", ""},
		"Kubernetes' functions":      {[]string{"ns.find('[0-9]+') == '12'"}, "a12", ""},
		"too expensive": {[]string{
			"'" + strings.Repeat("a", 100) + "'.split('').all(a, '" + strings.Repeat("b", 200) + "'.split('').all(b, '" +
				strings.Repeat("c", 200) + "'.split('').all(c, a != b || b != c || ns != '')))",
		}, "a", "cost limit"},
	} {
		t.Run(name, func(t *testing.T) {
			err := compile(t, c.names...).Admit(c.namespace)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestExpressionsAreBounded(t *testing.T) {
	_, err := namespace.Compile(&v1beta1.ManagedNamespaces{AllowedNames: []string{
		"ns == '" + strings.Repeat("a", namespace.MaxExpression) + "'",
	}}, metadata.Set{})
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
}

// Whatever it comes from, no generator puts a namespace into a tenant.
func TestNoneJoinsTenants(t *testing.T) {
	labels := map[string]string{"capsule.clastix.io/tenant": "solar"}
	asked := v1beta1.ManagedNamespaces{AllowedNames: []string{"true"}}
	operated := asked
	operated.Metadata = &v1beta1.ManagedMetadata{From: []v1beta1.MetadataOperation{{
		Namespace: "a", Strategy: v1beta1.MetadataMerge, Metadata: v1beta1.Metadata{Labels: labels},
	}}}
	for name, c := range map[string]struct {
		spec      v1beta1.ManagedNamespaces
		common    metadata.Set
		namespace string
		refused   bool
	}{
		"common metadata":               {asked, metadata.Set{Labels: labels}, "a", true},
		"an operation":                  {operated, metadata.Set{}, "a", true},
		"an operation on another":       {operated, metadata.Set{}, "b", false},
		"an annotation of the same key": {asked, metadata.Set{Annotations: labels}, "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := namespace.Compile(&c.spec, c.common)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Metadata(c.namespace, nil)
			if refused := err != nil && strings.Contains(err.Error(), `would join tenant "solar"`); refused != c.refused {
				t.Errorf("error %v", err)
			}
		})
	}
}
