package artifactgenerator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/fail"
)

func entries(names ...string) []v1beta1.InventoryEntry {
	var out []v1beta1.InventoryEntry
	for _, n := range names {
		out = append(out, entryOf(build.Artifact{Namespace: "ns", Name: n}))
	}
	return out
}

func built(names ...string) []build.Artifact {
	var out []build.Artifact
	for _, n := range names {
		out = append(out, build.Artifact{Namespace: "ns", Name: n})
	}
	return out
}

func TestDecide(t *testing.T) {
	result := &build.Result{
		Artifacts: built("new", "same"),
		Failures:  []build.Failure{{Subject: "ns/failed", Err: fail.Retried("R", "x")}, {Subject: "ns/never", Err: fail.Retried("R", "x")}},
	}
	namespace := v1beta1.InventoryEntry{Kind: v1beta1.InventoryNamespace, Name: "gone"}
	p := decide(append(entries("failed", "gone", "same"), namespace), result)
	if diff := cmp.Diff(append(entries("failed"), namespace), p.keep); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(entries("gone"), p.prune); diff != "" {
		t.Errorf("pruned (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(entries("gone", "new", "same"), p.ahead(entries("gone"))); diff != "" {
		t.Errorf("recorded ahead (-want +got):\n%s", diff)
	}
}

func TestNews(t *testing.T) {
	moved := entries("a")
	moved[0].Digest = "sha256:other"
	for name, c := range map[string]struct {
		was  []v1beta1.InventoryEntry
		plan draft
		want bool
	}{
		"nothing":     {entries("a"), draft{publish: built("a")}, false},
		"kept":        {entries("a", "b"), draft{publish: built("a"), keep: entries("b")}, false},
		"new":         {entries("a"), draft{publish: built("a", "b")}, true},
		"other":       {moved, draft{publish: built("a")}, true},
		"superfluous": {entries("a", "b"), draft{publish: built("a"), prune: entries("b")}, true},
	} {
		if got := c.plan.news(c.was); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestGuard(t *testing.T) {
	all := draft{prune: entries("a", "b", "c", "d", "e")}
	err := all.guard("@s/{x}", nil)
	e, ok := fail.As(err)
	if !ok || e.Class != fail.Stall || e.Reason != v1beta1.ReasonBuildFailed || !strings.Contains(err.Error(), "5 artifacts (ns/a, ns/b, ns/c, and 2 more)") {
		t.Errorf("got %v", err)
	}
	for name, p := range map[string]draft{
		"nothing to prune": {},
		"something built":  {publish: built("x"), prune: entries("a")},
		"something failed": {keep: entries("x"), prune: entries("a")},
	} {
		if err := p.guard("@s/{x}", nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
