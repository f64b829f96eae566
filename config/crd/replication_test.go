package crd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"sigs.k8s.io/yaml"
)

// replications are the kinds of replications.
func replications(t *testing.T) []kind {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !strings.HasSuffix(k.name, "TenantResource") })
}

// R12: the names and columns of replications.
func TestR12Names(t *testing.T) {
	for name, short := range map[string]string{"Tenant": "tnt", "TenantResource": "tr", "GlobalTenantResource": "gtr"} {
		k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
		crd := read(t, k.definition)
		if got := crd.Spec.Names.ShortNames; !slices.Equal(got, []string{short}) {
			t.Errorf("%s: short names are %q", name, got)
		}
		if crd.Spec.Subresources == nil || crd.Spec.Subresources.Status == nil {
			t.Errorf("%s has no status subresource", name)
		}
		if name == "Tenant" {
			continue
		}
		columns := map[string]string{}
		var order []string
		for _, c := range crd.Spec.AdditionalPrinterColumns {
			columns[c.Name] = c.JSONPath
			if c.Priority == 0 { // the others are for -o wide
				order = append(order, c.Name)
			}
		}
		want := map[string]string{
			"Items": ".status.size", "Age": ".metadata.creationTimestamp",
			"Ready":  `.status.conditions[?(@.type=="Ready")].status`,
			"Status": `.status.conditions[?(@.type=="Ready")].message`,
			"Failed": ".status.counts.failed", "Skipped": ".status.counts.skipped",
		}
		if diff := cmp.Diff(want, columns); diff != "" || !slices.Equal(order, []string{"Items", "Ready", "Status", "Age"}) {
			t.Errorf("%s: columns %q (-want +got):\n%s", name, order, diff)
		}
	}
}

// R1, R13: the defaults of the schema. Deprecated fields have none, so that a
// block without a policy is told from one with an empty policy.
func TestR13Defaults(t *testing.T) {
	for _, k := range replications(t) {
		obj := k.object(t, "spec: {resources: [{}, {policy: {force: null}, namespacedItems: [{kind: A}], generators: [{}]}]}", "{}")
		s := serve(t, k.definition)
		defaulting.PruneNonNullableNullsWithoutDefaults(obj, s.schema)
		defaulting.Default(obj, s.schema)
		want := `
resyncPeriod: 60s
resources:
  - {}
  - policy: {creation: Owner, protect: true, force: false, deletion: Remove}
    namespacedItems: [{kind: A, optional: true}]
    generators: [{missingKey: zero}]
`
		if k.name == "GlobalTenantResource" {
			want += "scope: Namespace\n"
		}
		var wanted map[string]any
		if err := yaml.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, obj["spec"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", k.name, diff)
		}
	}
}

// R9: a condition may have 4096 characters, of any alphabet.
func TestR9ConditionLength(t *testing.T) {
	for _, k := range replications(t) {
		s := serve(t, k.definition)
		for _, letter := range []string{"x", "ä"} {
			for n, fine := range map[int]bool{4096: true, 4097: false} {
				condition := "true//" + strings.Repeat(letter, n-6)
				obj := k.object(t, "spec: {resources: []}", "spec: {resources: [{policy: {condition: \""+condition+"\"}}]}")
				if errs := s.admit(t, obj); fine != (len(errs) == 0) {
					t.Errorf("%s: %d times %s: %.200q", k.name, n, letter, errs)
				}
			}
		}
	}
}
