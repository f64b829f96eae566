// Package helm holds what Weir makes of charts and values against Helm's own
// loading, merging and rendering.
package helm

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/weir-dev/weir/internal/cli"
)

const example = "../../examples/helm"

// The chart that the example composes renders without values to the same bytes
// as the chart it is made of with both values files, notes included.
func TestExample(t *testing.T) {
	out := t.TempDir()
	weir(t, "build", "--filename", example, "--output-dir", out, "--unpacked",
		"--source", "chart="+filepath.Join(example, "sources/chart"),
		"--source", "values="+filepath.Join(example, "sources/values"))
	files := filepath.Join(example, "sources/values/charts/podinfo")

	want := template(t, filepath.Join(example, "sources/chart/podinfo"),
		filepath.Join(files, "values.yaml"), filepath.Join(files, "values-prod.yaml"))
	got := template(t, filepath.Join(out, "apps/podinfo-composite/podinfo"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rendered (-helm --values +weir):\n%s", diff)
	}
	for _, text := range []string{"kind: Deployment", "kind: Service", "replicas: 6", "mirror/podinfo:6.9.0", "port-forward"} {
		if !strings.Contains(got, text) {
			t.Errorf("%q is missing in:\n%s", text, got)
		}
	}
}

// template renders a chart's directory with values files, and returns all that
// comes out, notes included. It makes the calls of helm template, but not by
// way of its action package: that would compile twice as much, to sort the
// same text by kind.
func template(t testing.TB, dir string, files ...string) string {
	t.Helper()
	chart, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	given := merge(t, files...)
	if err := chartutil.ProcessDependencies(chart, given); err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(chart, given, common.ReleaseOptions{
		Name: "release-name", Namespace: "default", Revision: 1, IsInstall: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := engine.Engine{}.RenderWithContext(context.Background(), chart, all)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&out, "---\n# Source: %s\n%s\n", name, texts[name])
	}
	return out.String()
}

// merge merges values files as helm does several --values.
func merge(t testing.TB, files ...string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		values, err := loader.LoadValues(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = loader.MergeMaps(out, values)
	}
	return out
}

// weir runs the command line.
func weir(t testing.TB, args ...string) {
	t.Helper()
	var errs bytes.Buffer
	code := cli.Run(context.Background(), append([]string{"weir"}, args...), cli.Env{
		Getenv: func(string) string { return "" }, In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &errs,
	})
	if code != 0 {
		t.Fatalf("weir %q: exit code %d\n%s", args, code, &errs)
	}
}

// write puts text into a file and makes its directory.
func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read returns a file's text.
func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
