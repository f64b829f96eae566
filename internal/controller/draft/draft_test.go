package draft_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

func entries(names ...string) []v1beta1.InventoryEntry {
	var out []v1beta1.InventoryEntry
	for _, n := range names {
		out = append(out, draft.Entry(build.Artifact{Namespace: "ns", Name: n}))
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

// of drafts for an inventory, artifacts that were built, and others that could
// not be.
func of(inventory, artifacts, failed string) *draft.Draft {
	result := &build.Result{Artifacts: built(strings.Fields(artifacts)...)}
	for _, name := range strings.Fields(failed) {
		result.Failures = append(result.Failures, draft.Failure(external.KeyOf("ns", name), fail.Retried("R", "x")))
	}
	return draft.Of(entries(strings.Fields(inventory)...), result)
}

func names(list []v1beta1.InventoryEntry) string {
	var out []string
	for _, e := range list {
		out = append(out, e.Name)
	}
	return strings.Join(out, " ")
}

func TestOf(t *testing.T) {
	d := of("failed gone same", "new same", "failed never")
	for what, got := range map[string][2]string{
		"kept":           {names(d.Keep), "failed"},
		"pruned":         {names(d.Prune), "gone"},
		"recorded ahead": {names(d.Ahead()), "failed gone same new"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
}

// A namespace goes only when all that may belong into it is known.
func TestOfNamespaces(t *testing.T) {
	inventory := append(entries("a", "b"), v1beta1.InventoryEntry{Kind: v1beta1.InventoryNamespace, Name: "ns"})
	broken := fail.Retried("R", "x")
	for name, c := range map[string]struct {
		result      build.Result
		keep, prune string
	}{
		"nothing goes there":            {prune: "a b ns"},
		"it is wanted":                  {result: build.Result{Namespaces: []build.Namespace{{Name: "ns"}}}, prune: "a b"},
		"something in it failed":        {result: build.Result{Failures: []build.Failure{draft.Failure(external.KeyOf("ns", "a"), broken)}}, keep: "a ns", prune: "b"},
		"something new in it failed":    {result: build.Result{Failures: []build.Failure{draft.Failure(external.KeyOf("ns", "c"), broken)}}, keep: "ns", prune: "a b"},
		"it failed itself":              {result: build.Result{Failures: []build.Failure{build.OfNamespace("ns", broken)}}, keep: "a b ns"},
		"nobody knows what is in it":    {result: build.Result{Failures: []build.Failure{{Subject: "directory", Err: broken}}}, keep: "ns", prune: "a b"},
		"something failed in another":   {result: build.Result{Failures: []build.Failure{draft.Failure(external.KeyOf("other", "a"), broken)}}, prune: "a b ns"},
		"it is wanted without contents": {result: build.Result{Namespaces: []build.Namespace{{Name: "ns"}}, Failures: []build.Failure{build.OfNamespace("ns", broken)}}, keep: "a b"},
	} {
		d := draft.Of(inventory, &c.result)
		if names(d.Keep) != c.keep || names(d.Prune) != c.prune {
			t.Errorf("%s: keep %q, prune %q; want %q and %q", name, names(d.Keep), names(d.Prune), c.keep, c.prune)
		}
	}
}

// What is denied stays as it is, be it wanted or not.
func TestWithholdAll(t *testing.T) {
	inventory := append(entries("a", "b"), v1beta1.InventoryEntry{Kind: v1beta1.InventoryNamespace, Name: "old"})
	d := draft.Of(inventory, &build.Result{Artifacts: built("a"), Namespaces: []build.Namespace{{Name: "ns"}}})
	d.Withhold(func(object.Key) *fail.Error { return fail.Retried("R", "denied") })
	if len(d.Publish)+len(d.Manage)+len(d.Prune) > 0 || len(d.Failures) != 4 || d.Changes(nil) {
		t.Errorf("%+v", d)
	}
	if got := names(d.After(nil, nil)); got != "a b old" {
		t.Errorf("the inventory is %q", got)
	}
}

func TestGuardNamesNamespaces(t *testing.T) {
	inventory := append(entries("a"), v1beta1.InventoryEntry{Kind: v1beta1.InventoryNamespace, Name: "ns"})
	err := draft.Of(inventory, &build.Result{}).Guard("@s/{x}")
	if err == nil || !strings.Contains(err.Error(), "1 artifact (ns/a) and 1 namespace (ns) would be deleted") {
		t.Errorf("%v", err)
	}
	if err := draft.Of(inventory, &build.Result{Artifacts: built("a")}).Guard("@s/{x}"); err != nil {
		t.Errorf("%v", err)
	}
}

func TestWithhold(t *testing.T) {
	d := of("old other", "old new other", "")
	d.Withhold(func(k object.Key) *fail.Error {
		if k.Name == "other" {
			return nil
		}
		return fail.Retried("R", "no %s", k.Name)
	})
	if len(d.Publish) != 1 || d.Publish[0].Name != "other" || names(d.Keep) != "old" || len(d.Prune) != 0 {
		t.Errorf("publish %d, keep %q, prune %q", len(d.Publish), names(d.Keep), names(d.Prune))
	}
	if err := d.Err(); err == nil || err.Error() != "2 failed, 1 built: ns/old: no old; ns/new: no new" {
		t.Errorf("error %v", err)
	}
}

// What could not be removed fails too, though it was not to be published.
func TestFail(t *testing.T) {
	d := of("a gone", "a b", "")
	failed := map[object.Key]*fail.Error{
		draft.KeyOf(entries("a")[0]):    fail.Retried("First", "no a"),
		draft.KeyOf(entries("gone")[0]): fail.Retried("Second", "it stays"),
	}
	d.Fail(failed)
	if len(failed) != 2 || len(d.Publish) != 1 || d.Publish[0].Name != "b" || names(d.Keep) != "a gone" {
		t.Errorf("publish %+v, keep %q", d.Publish, names(d.Keep))
	}
	if err := d.Err(); err == nil || err.Error() != "2 failed, 1 built: ns/a: no a; ns/gone: it stays" {
		t.Errorf("error %v", err)
	}
}

func set(names string) map[object.Key]bool {
	out := map[object.Key]bool{}
	for _, e := range entries(strings.Fields(names)...) {
		out[draft.KeyOf(e)] = true
	}
	return out
}

func TestAfter(t *testing.T) {
	for name, c := range map[string]struct{ inventory, artifacts, failed, published, left, want string }{
		"all is well":                            {"b", "a b", "", "a b", "a b", "a b"},
		"what could not be built stays":          {"b", "a", "b", "a", "a", "a b"},
		"what was never there does not":          {"", "a", "b", "a", "a", "a"},
		"what goes is gone":                      {"a b", "a", "", "a", "a", "a"},
		"what could not go stays":                {"a b", "a", "", "a", "a b", "a b"},
		"new, created but not told of":           {"", "a", "", "", "a", "a"},
		"new, not even created":                  {"", "a", "", "", "", ""},
		"old, not brought to what is wanted":     {"a", "a", "", "", "", "a"},
		"others' objects are not in the way":     {"a", "a", "", "a", "a x", "a"},
		"sorted, whatever the order of building": {"", "c a b", "", "c a b", "c a b", "a b c"},
	} {
		t.Run(name, func(t *testing.T) {
			published := map[object.Key]string{}
			for k := range set(c.published) {
				published[k] = "1"
			}
			if got := names(of(c.inventory, c.artifacts, c.failed).After(published, set(c.left))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	moved := entries("a")
	moved[0].Digest = "sha256:other"
	for name, c := range map[string]struct {
		draft   *draft.Draft
		leaving map[object.Key]bool
		want    bool
	}{
		"nothing":     {of("a", "a", ""), nil, false},
		"kept":        {of("a b", "a", "b"), nil, false},
		"new":         {of("a", "a b", ""), nil, true},
		"other":       {draft.Of(moved, &build.Result{Artifacts: built("a")}), nil, true},
		"superfluous": {of("a b", "a", ""), nil, true},
		"leaving":     {of("a b", "a", ""), set("b"), false},
	} {
		if got := c.draft.Changes(c.leaving); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestGuard(t *testing.T) {
	err := of("a b c d e", "", "").Guard("@s/{x}")
	e, ok := fail.As(err)
	if !ok || e.Class != fail.Stall || e.Reason != v1beta1.ReasonBuildFailed || !strings.Contains(err.Error(), "5 artifacts (ns/a, ns/b, ns/c, and 2 more)") {
		t.Errorf("got %v", err)
	}
	for name, d := range map[string]*draft.Draft{
		"nothing to prune": of("", "", ""),
		"something built":  of("a", "x", ""),
		"something failed": of("a x", "", "x"),
	} {
		if err := d.Guard("@s/{x}"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A generator with more artifacts than its status can hold is refused before
// anything is published, and one with as many as it can is not.
func TestFits(t *testing.T) {
	for n, ok := range map[int]bool{1459: true, 4000: true, 8000: false} {
		var artifacts []build.Artifact
		for i := range n {
			artifacts = append(artifacts, build.Artifact{Namespace: "a-namespace", Name: fmt.Sprintf("artifact-%05d", i)})
		}
		d := draft.Of(nil, &build.Result{Artifacts: artifacts})
		if err := d.Fits(); (err == nil) != ok {
			t.Errorf("%d artifacts: %v", n, err)
		}
		data, err := json.Marshal(d.Ahead())
		if err != nil {
			t.Fatal(err)
		}
		if tooLarge := len(data) > 3<<19; ok && tooLarge {
			t.Errorf("%d artifacts make %d bytes", n, len(data))
		}
	}
}

func TestFile(t *testing.T) {
	e := entries("a")[0]
	if got, want := draft.File(e), "externalartifact/ns/a/"+e.Filename; got != want || !strings.HasSuffix(e.Filename, ".tar.gz") {
		t.Errorf("got %q, want %q", got, want)
	}
}
