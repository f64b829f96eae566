package crd_test

import (
	"strings"
	"testing"
)

// Lengths and counts at their limit and just past it. In a spec, X stands for as
// many characters as make its field n long, and (ITEM) for n times ITEM.
func TestArtifactGeneratorBounds(t *testing.T) {
	const (
		base = `spec:
  sources: [{alias: s, kind: Bucket, name: s}]
  artifacts: [{name: a, copy: [{from: "@s/", to: "@artifact/"}]}]
`
		ops      = `copy: [{from: "@s/", to: "@artifact/"}]`
		managed  = `managedNamespaces: {prune: false, allowedNames: ["true"], metadata: `
		template = `pathPattern: "@s/{x}", `
	)
	tests := map[string]struct {
		max  int
		spec string
	}{
		"alias":                 {63, `sources: [{alias: X, kind: Bucket, name: s}]`},
		"source name":           {253, `sources: [{alias: s, kind: Bucket, name: X}]`},
		"source namespace":      {63, `sources: [{alias: s, kind: Bucket, name: s, namespace: X}]`},
		"sources":               {1000, `sources: [({alias: s, kind: Bucket, name: s})]`},
		"service account":       {63, `serviceAccountName: X`},
		"path pattern":          {1024, `pathPattern: "@s/X"`},
		"artifacts":             {1000, `artifacts: [({name: a, ` + ops + `})]`},
		"artifact name":         {253, `artifacts: [{name: X, ` + ops + `}]`},
		"artifact namespace":    {63, `artifacts: [{name: a, namespace: X, ` + ops + `}]`},
		"name template":         {1024, template + `artifacts: [{name: X, ` + ops + `}]`},
		"namespace template":    {1024, template + `artifacts: [{name: a, namespace: X, ` + ops + `}]`},
		"inputs":                {1024, `artifacts: [{name: a, inputsFrom: "@s/X", ` + ops + `}]`},
		"revision":              {64, `artifacts: [{name: a, revision: "@X", ` + ops + `}]`},
		"origin revision":       {64, `artifacts: [{name: a, originRevision: "@X", ` + ops + `}]`},
		"copies":                {1000, `artifacts: [{name: a, copy: [({from: "@s/", to: "@artifact/"})]}]`},
		"from":                  {1024, `artifacts: [{name: a, copy: [{from: "@s/X", to: "@artifact/"}]}]`},
		"to":                    {1024, `artifacts: [{name: a, copy: [{from: "@s/", to: "@artifact/X"}]}]`},
		"excludes":              {100, `artifacts: [{name: a, copy: [{from: "@s/", to: "@artifact/", exclude: [(x)]}]}]`},
		"exclude":               {1024, `artifacts: [{name: a, copy: [{from: "@s/", to: "@artifact/", exclude: [X]}]}]`},
		"allowed names":         {1000, `managedNamespaces: {prune: false, allowedNames: [("true")]}`},
		"metadata operations":   {1000, managed + `{from: [({strategy: Reset, namespace: x})]}}`},
		"namespace of metadata": {63, managed + `{from: [{strategy: Reset, namespace: X}]}}`},
		"path of metadata":      {1024, managed + `{fromSource: {path: "@s/X", allowedLabels: {a: "true"}}}}`},
	}
	s := serve(t, generators)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if errs := s.admit(t, kinds[0].object(t, base, expand(test.spec, test.max))); len(errs) > 0 {
				t.Errorf("%d is refused: %.300q", test.max, errs)
			}
			if errs := s.admit(t, kinds[0].object(t, base, expand(test.spec, test.max+1))); len(errs) != 1 {
				t.Errorf("%d gives %d errors, want 1: %.300q", test.max+1, len(errs), errs)
			}
		})
	}
}

// expand returns a document with the spec of a bound's case for n.
func expand(spec string, n int) string {
	if before, rest, ok := strings.Cut(spec, "("); ok {
		item, after, _ := strings.Cut(rest, ")")
		return "spec: {" + before + strings.Repeat(item+", ", n) + after + "}"
	}
	before, after, _ := strings.Cut(spec, "X")
	field := before[strings.LastIndexAny(before, `" [`)+1:]
	return "spec: {" + before + strings.Repeat("x", n-len(field)) + after + "}"
}
