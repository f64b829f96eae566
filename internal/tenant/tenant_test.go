package tenant_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/tenant"
)

func TestOf(t *testing.T) {
	ref := func(kind, api, name string) metav1.OwnerReference {
		return metav1.OwnerReference{Kind: kind, APIVersion: api, Name: name}
	}
	for name, c := range map[string]struct {
		namespace string
		label     string
		refs      []metav1.OwnerReference
		want      string
		err       string
	}{
		"nothing":            {namespace: "a"},
		"a label":            {namespace: "a", label: "solar", want: "solar"},
		"an owner":           {namespace: "a", refs: []metav1.OwnerReference{ref("Tenant", "capsule.clastix.io/v1beta2", "solar")}, want: "solar"},
		"an older version":   {namespace: "a", refs: []metav1.OwnerReference{ref("Tenant", "capsule.clastix.io/v1beta1", "solar")}, want: "solar"},
		"both":               {namespace: "a", label: "solar", refs: []metav1.OwnerReference{ref("Tenant", "capsule.clastix.io/v1beta2", "solar")}, want: "solar"},
		"another group":      {namespace: "a", refs: []metav1.OwnerReference{ref("Tenant", "example.org/v1", "solar")}},
		"another kind":       {namespace: "a", refs: []metav1.OwnerReference{ref("TenantResource", "capsule.clastix.io/v1beta2", "solar")}},
		"contradiction":      {namespace: "a", label: "oil", refs: []metav1.OwnerReference{ref("Tenant", "capsule.clastix.io/v1beta2", "solar")}, err: `["oil" "solar"]`},
		"two owners":         {namespace: "a", refs: []metav1.OwnerReference{ref("Tenant", "capsule.clastix.io/v1beta2", "a"), ref("Tenant", "capsule.clastix.io/v1beta2", "b")}, err: `["a" "b"]`},
		"kube-system":        {namespace: "kube-system", label: "solar", err: "one of the system"},
		"flux-system":        {namespace: "flux-system", label: "solar", err: "one of the system"},
		"default":            {namespace: "default", label: "solar", err: "one of the system"},
		"default unlabelled": {namespace: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Name: c.namespace, OwnerReferences: c.refs}
			if c.label != "" {
				o.Labels = map[string]string{v1beta2.LabelTenant: c.label}
			}
			got, err := tenant.Of(o)
			if got != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, error %v", got, err)
			}
		})
	}
}

func TestSelect(t *testing.T) {
	all := tenant.Group([]tenant.Tenant{
		{Name: "wind", Labels: map[string]string{"energy": "renewable"}},
		{Name: "oil", Labels: map[string]string{"energy": "fossil"}},
		{Name: "solar", Labels: map[string]string{"energy": "renewable"}},
		{Name: "gone", Labels: map[string]string{"energy": "renewable"}, Terminating: true},
	}, map[string][]tenant.Namespace{"solar": {{Name: "solar-b"}, {Name: "solar-a"}}, "nobody": {{Name: "x"}}})
	for name, c := range map[string]struct {
		selector metav1.LabelSelector
		want     []string
	}{
		"R15 by a label": {metav1.LabelSelector{MatchLabels: map[string]string{"energy": "renewable"}}, []string{"solar", "wind"}},
		"R16 all":        {metav1.LabelSelector{}, []string{"oil", "solar", "wind"}},
		"by name":        {metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "oil"}}, []string{"oil"}},
		"none":           {metav1.LabelSelector{MatchLabels: map[string]string{"energy": "water"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tenant.Select(all, &c.selector)
			var names []string
			for _, g := range got {
				names = append(names, g.Name)
			}
			if diff := cmp.Diff(c.want, names); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
	solar := all[2]
	if !solar.Has("solar-a") || !solar.Has("solar-b") || solar.Has("x") || solar.Has("solar") {
		t.Errorf("solar has %v", solar.Namespaces)
	}
	_, err := tenant.Select(all, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}})
	if err == nil || !strings.Contains(err.Error(), "tenantSelector") {
		t.Errorf("error %v", err)
	}
}
