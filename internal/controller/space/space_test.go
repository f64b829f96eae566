package space_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/space"
	"github.com/weir-dev/weir/internal/metadata"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// R73: the digest in the inventory.
func TestDigest(t *testing.T) {
	m := metadata.Set{Labels: map[string]string{"b": "2", "a": "1"}, Annotations: map[string]string{"c": "3"}}
	want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("annotation:c=3|label:a=1|label:b=2")))
	if got := space.Digest(m); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// R97: names are exact, and kubectl's are not.
func TestReclaim(t *testing.T) {
	from := space.Reclaim([]string{"console"})
	for name, want := range map[string]bool{
		"kubectl": true, "kubectl-label": true, "kubectl-client-side-apply": true, "before-first-apply": true, "console": true,
		"console2": false, "my-kubectl": false, "before-first-apply2": false, "manual-admin": false, "weir-controller": false, space.Heir: false,
	} {
		got := false
		for _, m := range from {
			got = got || m.Matches(name, "Update")
		}
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// R92 to R96 and R100 to R105: what a live namespace asks for.
func TestDirect(t *testing.T) {
	const group = "source.extensions.fluxcd.io/"
	for name, c := range map[string]struct {
		annotations string // key=value, separated by spaces
		kept        bool   // the generator does not prune
		ends        bool
		want        plan.Directive
	}{
		"nothing":                        {},
		"the default":                    {annotations: "ssa=Override prune=Enabled reconcile=Enabled"},
		"unknown values":                 {annotations: "ssa=x prune=x reconcile=x"},
		"merge":                          {annotations: "ssa=mErGe", want: plan.Directive{Update: policy.SsaMerge}},
		"if not present":                 {annotations: "ssa=ifnotpresent", want: plan.Directive{SkipApply: true}},
		"ignore":                         {annotations: "ssa=IGNORE", want: plan.Directive{SkipApply: true, HandOver: true}},
		"paused":                         {annotations: "reconcile=disabled", want: plan.Directive{SkipApply: true, SkipDelete: true}},
		"paused at the end":              {annotations: "reconcile=Disabled", ends: true, want: plan.Directive{SkipApply: true, HandOver: true}},
		"paused before all else":         {annotations: "reconcile=Disabled externalFinalizer=self ssa=Ignore", want: plan.Directive{SkipApply: true, SkipDelete: true}},
		"protected":                      {annotations: "prune=disabled", want: plan.Directive{HandOver: true}},
		"protected and merged":           {annotations: "prune=Disabled ssa=Merge", want: plan.Directive{HandOver: true, Update: policy.SsaMerge}},
		"the generator does not prune":   {kept: true, want: plan.Directive{HandOver: true}},
		"enabling overrides nothing":     {annotations: "prune=Enabled", kept: true, want: plan.Directive{HandOver: true}},
		"handed over":                    {annotations: "externalFinalizer=g/v/k/ns/n/uid", want: plan.Directive{HandOver: true}},
		"handed over in the cluster":     {annotations: "externalFinalizer=core/v1/Namespace/n/uid", want: plan.Directive{HandOver: true}},
		"self":                           {annotations: "externalFinalizer=self", want: plan.Directive{RejectDelete: true}},
		"too short":                      {annotations: "externalFinalizer=a/b/c/d", want: plan.Directive{RejectDelete: true}},
		"too long":                       {annotations: "externalFinalizer=a/b/c/d/e/f/g", want: plan.Directive{RejectDelete: true}},
		"with a hole":                    {annotations: "externalFinalizer=a/b//d/e/f", want: plan.Directive{RejectDelete: true}},
		"without a group":                {annotations: "externalFinalizer=/v1/ConfigMap/ns/n/uid", want: plan.Directive{RejectDelete: true}},
		"empty":                          {annotations: "externalFinalizer=", want: plan.Directive{RejectDelete: true}},
		"malformed and protected":        {annotations: "externalFinalizer=self prune=Disabled", want: plan.Directive{HandOver: true}},
		"malformed, and nothing deletes": {annotations: "externalFinalizer=self", kept: true, want: plan.Directive{HandOver: true}},
	} {
		u := space.Manifest("n", metadata.Set{})
		annotations := map[string]string{}
		for _, pair := range strings.Fields(c.annotations) {
			key, value, _ := strings.Cut(pair, "=")
			annotations[group+key] = value
		}
		u.SetAnnotations(annotations)
		got := space.Director{Prune: !c.kept, Ends: c.ends}.Direct(u)
		if asks := got != (plan.Directive{Update: got.Update}); asks != (got.Reason != "") {
			t.Errorf("%s: the reason is %q", name, got.Reason)
		}
		got.Reason = ""
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	artifact := external.KeyOf("ns", "n").Stub("v1")
	artifact.SetAnnotations(map[string]string{group + "reconcile": "Disabled", group + "externalFinalizer": "x"})
	if got := (space.Director{}).Direct(artifact); got != (plan.Directive{}) {
		t.Errorf("an ExternalArtifact asks for %+v", got)
	}
}
