package build_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/internal/tree/treetest"
)

// TestCases runs testdata/*.txtar: the generator gen/apps with the spec in
// spec.yaml is built from the sources in/ALIAS/PATH, whose revision is
// main@sha1:ALIAS and whose origin is that of the lines "ALIAS REVISION" in the
// file "origins". The file "want" holds what comes of it.
func TestCases(t *testing.T) {
	treetest.Golden(t, func(t *testing.T, a *txtar.Archive) {
		got := show(t, run(t, t.Context(), a))
		for i, f := range a.Files {
			if f.Name != "want" {
				continue
			}
			if diff := cmp.Diff(string(f.Data), got); diff != "" && !treetest.Update() {
				t.Errorf("(-want +got):\n%s", diff)
			}
			a.Files[i].Data = []byte(got)
		}
	})
}

func run(t *testing.T, ctx context.Context, a *txtar.Archive) *build.Result {
	t.Helper()
	g := v1beta1.ArtifactGenerator{}
	g.Name, g.Namespace = "gen", "apps"
	for _, f := range a.Files {
		if f.Name == "spec.yaml" {
			if err := yaml.UnmarshalStrict(f.Data, &g.Spec); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := recipe.Compile(&g, recipe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	origins := map[string]string{}
	for _, line := range treetest.Lines(a, "origins") {
		alias, revision, _ := strings.Cut(line, " ")
		origins[alias] = revision
	}
	sources := map[string]build.Source{}
	for alias, tr := range treetest.Sources(t, a) {
		sources[alias] = build.Source{Tree: tr, Revision: "main@sha1:" + alias, OriginRevision: origins[alias]}
	}
	result, err := build.Build(ctx, r, sources, build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func show(t *testing.T, r *build.Result) string {
	t.Helper()
	var b strings.Builder
	for _, a := range r.Artifacts {
		revision, _, _ := strings.Cut(a.Revision, ":")
		fmt.Fprintf(&b, "artifact %s/%s %s", a.Namespace, a.Name, revision)
		if a.OriginRevision != "" {
			fmt.Fprintf(&b, " of %s", a.OriginRevision)
		}
		fmt.Fprintln(&b)
		showMap(&b, "label", a.Metadata.Labels)
		showMap(&b, "annotation", a.Metadata.Annotations)
		for _, k := range slices.Sorted(maps.Keys(a.Inputs)) {
			fmt.Fprintf(&b, "\tinput %s=%s\n", k, a.Inputs[k].Raw)
		}
		for _, line := range treetest.List(t, a.Tree) {
			fmt.Fprintf(&b, "\t%s\n", line)
		}
	}
	for _, n := range r.Namespaces {
		fmt.Fprintf(&b, "namespace %s\n", n.Name)
		showMap(&b, "label", n.Metadata.Labels)
		showMap(&b, "annotation", n.Metadata.Annotations)
	}
	if err := r.Err(); err != nil {
		e, _ := fail.As(err)
		fmt.Fprintf(&b, "error %s stalled=%v\n\t%v\n", e.Reason, e.Class == fail.Stall, err)
	}
	return b.String()
}

func showMap(b *strings.Builder, what string, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(b, "\t%s %s=%s\n", what, k, m[k])
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	g := v1beta1.ArtifactGenerator{Spec: v1beta1.ArtifactGeneratorSpec{
		Sources:   []v1beta1.Source{{Alias: "s", Kind: v1beta1.SourceBucket, Name: "s"}},
		Artifacts: []v1beta1.Artifact{{Name: "a", Copy: []v1beta1.Copy{{From: "@s/", To: "@artifact/"}}}},
	}}
	g.Namespace = "apps"
	r, err := recipe.Compile(&g, recipe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := build.Build(ctx, r, map[string]build.Source{"s": {}}, build.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestErrCounts(t *testing.T) {
	r := build.Result{Artifacts: make([]build.Artifact, 2)}
	if err := r.Err(); err != nil {
		t.Errorf("without failures: %v", err)
	}
	for i := range 5 {
		r.Failures = append(r.Failures, build.Failure{Subject: fmt.Sprintf("ns/a%d", i), Err: fail.Stalled("First", "broken")})
	}
	check := func(reason string, class fail.Class) {
		t.Helper()
		e, ok := fail.As(r.Err())
		if !ok || e.Reason != reason || e.Class != class {
			t.Errorf("got %+v, want reason %s and class %d", e, reason, class)
		}
	}
	check("First", fail.Stall)
	want := "5 failed, 2 built: ns/a0, ns/a1, ns/a2: broken; and 2 more"
	if got := r.Err().Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Failures = append(r.Failures, build.Failure{Subject: "ns/z", Err: fail.Retried("Second", "gone")})
	check("Second", fail.Retry)
	// Whatever has its time is tried at that time.
	r.Failures = append(r.Failures,
		build.OfNamespace("ns", &fail.Error{Reason: "Third", Class: fail.Stall, After: time.Minute, Err: errors.New("denied")}),
		build.OfNamespace("ns", &fail.Error{Reason: "Third", Class: fail.Stall, After: time.Second, Err: errors.New("denied")}))
	check("Second", fail.Wait)
	if e, _ := fail.As(r.Err()); e.After != time.Second {
		t.Errorf("it is tried after %v", e.After)
	}
	r.Failures = r.Failures[6:]
	check("Third", fail.Stall)
}
