package budget_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/budget"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// removals returns n objects.
func removals(n int) []budget.Removal {
	out := make([]budget.Removal, n)
	for i := range out {
		out[i] = budget.Removal{
			Key: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("c%02d", i)}, UID: types.UID(fmt.Sprint("u", i)),
		}
	}
	return out
}

func TestJudge(t *testing.T) {
	approved := budget.Digest(removals(3))
	for name, c := range map[string]struct {
		annotations map[string]string
		n, of       int
		want        string // in the error; empty: it may
	}{
		"no budget":            {nil, 200, 200, ""},
		"only an approval":     {map[string]string{budget.Approval: "x"}, 200, 200, ""},
		"nothing to remove":    {map[string]string{budget.Annotation: "0"}, 0, 200, ""},
		"within":               {map[string]string{budget.Annotation: "10"}, 10, 200, ""},
		"over":                 {map[string]string{budget.Annotation: "10"}, 43, 157, "the prune budget is 10, 43 objects (ConfigMap shop/c00, ConfigMap shop/c01, ConfigMap shop/c02, and 40 more) would be removed, and 157 are wanted: nothing is removed; annotate with weir.dev/approve-prune: " + budget.Digest(removals(43)) + " if that is meant"},
		"none":                 {map[string]string{budget.Annotation: "0"}, 1, 200, "the prune budget is 0, 1 object (ConfigMap shop/c00) would be removed"},
		"a percentage":         {map[string]string{budget.Annotation: " 20% "}, 40, 200, ""},
		"over a percentage":    {map[string]string{budget.Annotation: "20%"}, 41, 200, "the prune budget is 20% (40), "},
		"rounded down":         {map[string]string{budget.Annotation: "50%"}, 2, 3, "the prune budget is 50% (1), "},
		"all others":           {map[string]string{budget.Annotation: "50%"}, 200, 200, "the prune budget is 50% (100), "},
		"all, none wanted":     {map[string]string{budget.Annotation: "99%"}, 3, 0, "the prune budget is 99% (2), "},
		"all of it":            {map[string]string{budget.Annotation: "100%"}, 3, 0, ""},
		"approved":             {map[string]string{budget.Annotation: "1", budget.Approval: approved}, 3, 3, ""},
		"approved for others":  {map[string]string{budget.Annotation: "1", budget.Approval: approved}, 4, 4, "the prune budget is 1, "},
		"no number":            {map[string]string{budget.Annotation: "some"}, 1, 3, `annotation weir.dev/prune-budget: "some" is neither a number such as 10 nor a percentage such as 20%: 1 object (ConfigMap shop/c00) would be removed, and 3 are wanted: nothing is removed`},
		"empty":                {map[string]string{budget.Annotation: ""}, 1, 3, `"" is neither`},
		"negative":             {map[string]string{budget.Annotation: "-1"}, 1, 3, `"-1" is neither`},
		"too large":            {map[string]string{budget.Annotation: "99999999999"}, 1, 3, `"99999999999" is neither`},
		"more than all":        {map[string]string{budget.Annotation: "101%"}, 1, 3, `"101%" is neither`},
		"malformed, nothing":   {map[string]string{budget.Annotation: "some"}, 0, 3, ""},
		"malformed, approved":  {map[string]string{budget.Annotation: "some", budget.Approval: approved}, 3, 3, ""},
		"within, approval old": {map[string]string{budget.Annotation: "3", budget.Approval: "sha256:0"}, 3, 3, ""},
	} {
		err := budget.Judge(c.annotations, removals(c.n), c.of)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// All kinds have the same annotations.
func TestAnnotations(t *testing.T) {
	if budget.Annotation != v1beta2.AnnotationPruneBudget || budget.Approval != v1beta2.AnnotationApprovePrune {
		t.Error("replications have others")
	}
}

// A digest is that of exactly one set of incarnations.
func TestDigest(t *testing.T) {
	all := removals(3)
	turned := slices.Clone(all)
	slices.Reverse(turned)
	if budget.Digest(all) != budget.Digest(turned) {
		t.Error("the order counts")
	}
	if budget.Digest(nil) != "" {
		t.Error("none has a digest")
	}
	seen := map[string]string{budget.Digest(all): "all", budget.Digest(all[:2]): "fewer"}
	for name, change := range map[string]func(*budget.Removal){
		"another uid":       func(r *budget.Removal) { r.UID = "other" },
		"another name":      func(r *budget.Removal) { r.Name = "other" },
		"another namespace": func(r *budget.Removal) { r.Namespace = "other" },
		"another kind":      func(r *budget.Removal) { r.Kind = "other" },
		"another group":     func(r *budget.Removal) { r.Group = "other" },
	} {
		one := removals(3)
		change(&one[1])
		d := budget.Digest(one)
		if was, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", name, was)
		}
		seen[d] = name
	}
}
