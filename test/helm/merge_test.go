package helm

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// probe is a chart that prints its values, all of them.
var probe = map[string]string{
	"Chart.yaml":            "apiVersion: v2\nname: probe\nversion: 1.0.0\n",
	"templates/values.yaml": "{{ toYaml .Values }}\n",
}

// The files of testdata/*.txtar, merged by Weir one after the other, mean to
// Helm what the files mean when each is given with --values. Both sides are
// read by Helm, so that what it loses itself (integers beyond 2^53 become
// floats) is lost on both.
//
// As the chart's own values.yaml the merged file means the same as the first
// file does there with the others in --values. The exception is a null for a
// key that the chart has no value for: Helm shows it to templates when it
// comes from --values, and drops it when it stands in values.yaml. Cases named
// null-* are for --values only.
func TestMerge(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			files := unpack(t, name)
			merged := compose(t, files)

			want := template(t, chart(t, ""), files...)
			if diff := cmp.Diff(want, template(t, chart(t, ""), merged)); diff != "" {
				t.Errorf("as --values (-helm +weir):\n%s\nmerged:\n%s", diff, read(t, merged))
			}
			if strings.HasPrefix(filepath.Base(name), "null-") {
				return
			}
			want = template(t, chart(t, read(t, files[0])), files[1:]...)
			if diff := cmp.Diff(want, template(t, chart(t, read(t, merged)))); diff != "" {
				t.Errorf("as the chart's values.yaml (-helm +weir):\n%s\nmerged:\n%s", diff, read(t, merged))
			}
		})
	}
}

// unpack writes the files of an archive and returns their names, in order.
func unpack(t *testing.T, name string) []string {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) < 2 {
		t.Fatal("a case has at least two files")
	}
	var out []string
	dir := t.TempDir()
	for _, f := range archive.Files {
		file := filepath.Join(dir, f.Name)
		write(t, file, string(f.Data))
		out = append(out, file)
	}
	return out
}

// chart makes a probe with the values.yaml given and returns its directory.
func chart(t *testing.T, values string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range probe {
		write(t, filepath.Join(dir, name), text)
	}
	write(t, filepath.Join(dir, "values.yaml"), values)
	return dir
}

// compose lets Weir merge values files, which lie in one directory, and
// returns the name of the result.
func compose(t *testing.T, files []string) string {
	t.Helper()
	var copies strings.Builder
	for _, f := range files {
		fmt.Fprintf(&copies, "        - {from: '@files/%s', to: '@artifact/values.yaml', strategy: Merge}\n", filepath.Base(f))
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "generator.yaml"), fmt.Sprintf(`
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: merge, namespace: test}
spec:
  sources: [{alias: files, kind: GitRepository, name: files}]
  artifacts:
    - name: merged
      copy:
%s`, &copies))
	weir(t, "build", "--filename", dir, "--source", "files="+filepath.Dir(files[0]),
		"--output-dir", filepath.Join(dir, "out"), "--unpacked")
	return filepath.Join(dir, "out/test/merged/values.yaml")
}
