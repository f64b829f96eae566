package target_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/target"
	"github.com/weir-dev/weir/internal/tenant"
)

func TestOf(t *testing.T) {
	prod := map[string]string{"environment": "production"}
	tenants := []tenant.Tenant{
		{Name: "oil", Namespaces: []tenant.Namespace{{Name: "oil-a", Labels: prod}}},
		{Name: "solar", Namespaces: []tenant.Namespace{
			{Name: "solar-a", Labels: prod}, {Name: "solar-b"}, {Name: "solar-c", Labels: prod, Terminating: true},
		}},
		{Name: "gone", Terminating: true, Namespaces: []tenant.Namespace{{Name: "gone-a", Labels: prod}}},
		{Name: "empty"},
	}
	for name, c := range map[string]struct {
		scope    v1beta2.Scope
		tenants  []tenant.Tenant
		selector string
		want     []string
	}{
		"R15 every namespace":          {v1beta2.ScopeNamespace, tenants, "", []string{"oil/oil-a", "solar/solar-a", "solar/solar-b"}},
		"R17 some namespaces":          {v1beta2.ScopeNamespace, tenants, "environment=production", []string{"oil/oil-a", "solar/solar-a"}},
		"R18 never of another tenant":  {v1beta2.ScopeNamespace, tenants[1:2], "environment=production", []string{"solar/solar-a"}},
		"the empty scope":              {"", tenants[:1], "", []string{"oil/oil-a"}},
		"R23 once per tenant":          {v1beta2.ScopeTenant, tenants, "environment=production", []string{"oil/", "solar/", "empty/"}},
		"R24 once":                     {v1beta2.ScopeNone, tenants, "environment=production", []string{"None/"}},
		"R24 once without tenants":     {v1beta2.ScopeNone, nil, "", []string{"None/"}},
		"R27 nothing":                  {v1beta2.ScopeNamespace, tenants, "environment=none", nil},
		"R26 the terminating are none": {v1beta2.ScopeNamespace, tenants[2:3], "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := labels.Parse(c.selector)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range target.Of(c.scope, c.tenants, s) {
				got = append(got, d.TenantName()+"/"+d.NamespaceName())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestString(t *testing.T) {
	te, ns := &tenant.Tenant{Name: "a"}, &tenant.Namespace{Name: "b"}
	for want, d := range map[string]target.Destination{
		"namespace b": {Tenant: te, Namespace: ns}, "tenant a": {Tenant: te}, "scope None": {},
	} {
		if got := d.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
