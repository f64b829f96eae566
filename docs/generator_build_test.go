package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/cli"
)

// built is what weir build said and wrote.
type built struct {
	code      int
	errors    string
	artifacts []artifact
	dir       string // holds NAMESPACE/NAME/ for each artifact
}

type artifact struct {
	Name           string         `json:"name"`
	Namespace      string         `json:"namespace"`
	Labels         map[string]any `json:"labels"`
	ExportedInputs map[string]any `json:"exportedInputs"`
}

// files returns the paths of the files of an artifact, and its empty
// directories with a slash behind them.
func (b built) files(t *testing.T, namespace, name string) []string {
	t.Helper()
	return paths(t, filepath.Join(b.dir, namespace, name))
}

func paths(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// build runs weir build on a generator, with a directory for each source.
func build(t *testing.T, generator string, sources map[string]string) built {
	t.Helper()
	b := built{dir: filepath.Join(t.TempDir(), "out")}
	args := []string{"weir", "build", "-f", "-", "--output", "json", "--output-dir", b.dir, "--unpacked"}
	for alias, dir := range sources {
		args = append(args, "--source", alias+"="+dir)
	}
	var out, errs bytes.Buffer
	b.code = cli.Run(t.Context(), args, cli.Env{
		Getenv: func(string) string { return "" }, In: strings.NewReader(generator), Out: &out, Err: &errs,
	})
	b.errors = strings.TrimSpace(errs.String())
	var report struct{ Artifacts []artifact }
	if err := json.Unmarshal(out.Bytes(), &report); err != nil && b.code != 2 {
		t.Fatalf("%v in %q; %s", err, out.String(), errs.String())
	}
	b.artifacts = report.Artifacts
	return b
}

// sources unpacks the files NAME/ALIAS/… of an archive and returns the
// directories by alias.
func sources(t *testing.T, name string) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/artifactgenerators.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	dirs := map[string]string{}
	for _, f := range archive.Files {
		rest, ok := strings.CutPrefix(f.Name, name+"/")
		if !ok {
			continue
		}
		alias, _, _ := strings.Cut(rest, "/")
		dirs[alias] = filepath.Join(root, alias)
		file := filepath.Join(root, rest)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(dirs) == 0 {
		t.Fatalf("there are no sources for %q", name)
	}
	return dirs
}

// generatorOf returns a manifest with one artifact called a, or with what
// more replaces.
func generatorOf(t *testing.T, more func(*v1beta1.ArtifactGenerator)) string {
	t.Helper()
	g := v1beta1.ArtifactGenerator{}
	g.APIVersion, g.Kind = v1beta1.GroupVersion.String(), v1beta1.KindArtifactGenerator
	g.Namespace, g.Name = "apps", "g"
	g.Spec.Sources = []v1beta1.Source{{Alias: "source", Kind: v1beta1.SourceGitRepository, Name: "s"}}
	g.Spec.Artifacts = []v1beta1.Artifact{{Name: "a", Copy: []v1beta1.Copy{{From: "@source/**", To: "@artifact/"}}}}
	more(&g)
	data, err := yaml.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// operationTable shows what copy operations make of one source.
func operationTable(t *testing.T) table {
	dirs := sources(t, "operations")
	rows := table{{"`from`", "`to`", "`exclude`", "files of the artifact"}}
	for _, op := range []v1beta1.Copy{
		{From: "@source/app.yaml", To: "@artifact/deploy/main.yaml"},
		{From: "@source/app.yaml", To: "@artifact/deploy/"},
		{From: "@source/conf", To: "@artifact/deploy/"},
		{From: "@source/conf/", To: "@artifact/deploy"},
		{From: "@source/conf/**", To: "@artifact/deploy/"},
		{From: "@source/conf/*", To: "@artifact/deploy/"},
		{From: "@source/conf/*.yaml", To: "@artifact/deploy/"},
		{From: "@source/conf/**/*.yaml", To: "@artifact/deploy/"},
		{From: "@source/**/*.yaml", To: "@artifact/"},
		{From: "@source/conf/{a,b}.yaml", To: "@artifact/"},
		{From: "@source/conf/**", To: "@artifact/", Exclude: []string{"*.md"}},
		{From: "@source/conf/**", To: "@artifact/", Exclude: []string{"more/**"}},
		{From: "@source/**", To: "@artifact/", Exclude: []string{"conf/more/**", "app.yaml"}},
		{From: "@source/", To: "@artifact/"},
	} {
		b := build(t, generatorOf(t, func(g *v1beta1.ArtifactGenerator) { g.Spec.Artifacts[0].Copy = []v1beta1.Copy{op} }), dirs)
		if b.code != 0 {
			t.Fatal(b.errors)
		}
		rows = append(rows, []string{"`" + op.From + "`", "`" + op.To + "`", quoted(op.Exclude), quoted(b.files(t, "apps", "a"))})
	}
	return rows
}

// quoted lists words as code.
func quoted(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "`" + strings.Join(words, "` `") + "`"
}

// strategyTable shows what becomes of a file that is there already.
func strategyTable(t *testing.T) table {
	dirs := sources(t, "strategies")
	rows := table{{"`strategy`", "the file that is there", "the file that is copied", "the file afterwards"}}
	for _, strategy := range []v1beta1.CopyStrategy{v1beta1.CopyOverwrite, v1beta1.CopyMerge} {
		b := build(t, generatorOf(t, func(g *v1beta1.ArtifactGenerator) {
			g.Spec.Artifacts[0].Copy = []v1beta1.Copy{
				{From: "@source/there.yaml", To: "@artifact/values.yaml"},
				{From: "@source/copied.yaml", To: "@artifact/values.yaml", Strategy: strategy},
			}
		}), dirs)
		if b.code != 0 {
			t.Fatal(b.errors)
		}
		rows = append(rows, []string{"`" + string(strategy) + "`", lines(t, dirs["source"], "there.yaml"),
			lines(t, dirs["source"], "copied.yaml"), lines(t, b.dir, "apps/a/values.yaml")})
	}
	return rows
}

// lines returns a file as code in the cell of a table.
func lines(t *testing.T, dir, file string) string {
	t.Helper()
	text := strings.TrimSpace(read(t, filepath.Join(dir, file)))
	return "`" + strings.ReplaceAll(text, "\n", "`<br>`") + "`"
}

// patternTable shows what path patterns find in one source.
func patternTable(t *testing.T) table {
	dirs := sources(t, "patterns")
	rows := table{{"`pathPattern`", "artifact", "labels", "made of"}}
	for pattern, name := range ordered(
		"@source/apps/{app}", "{app}",
		"@source/apps/{app}/envs/{env}", "{app}-{env}",
		"@source/apps/{app}/envs/prod", "{app}",
		"@source/teams/{team}-team", "{team}",
	) {
		b := build(t, generatorOf(t, func(g *v1beta1.ArtifactGenerator) {
			g.Spec.PathPattern = pattern
			g.Spec.Artifacts[0].Name = name
			g.Spec.Artifacts[0].Copy = []v1beta1.Copy{{From: pattern + "/**", To: strings.Replace(pattern, "@source", "@artifact", 1) + "/"}}
		}), dirs)
		if b.code != 0 || len(b.artifacts) == 0 {
			t.Fatal(pattern, b.errors)
		}
		for _, a := range b.artifacts {
			var labels []string
			for _, k := range slices.Sorted(maps.Keys(a.Labels)) {
				if !strings.Contains(k, "/") {
					labels = append(labels, fmt.Sprintf("%s=%s", k, a.Labels[k]))
				}
			}
			rows = append(rows, []string{"`" + pattern + "`", "`" + a.Name + "`", quoted(labels), quoted(b.files(t, a.Namespace, a.Name))})
		}
	}
	return rows
}

// ordered yields pairs in the order in which they are written.
func ordered(pairs ...string) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for i := 0; i < len(pairs); i += 2 {
			if !yield(pairs[i], pairs[i+1]) {
				return
			}
		}
	}
}

// mistakeTable shows what is said of mistakes.
func mistakeTable(t *testing.T) table {
	dirs := sources(t, "patterns")
	first := func(g *v1beta1.ArtifactGenerator) *v1beta1.Artifact { return &g.Spec.Artifacts[0] }
	rows := table{{"mistake", "reason", "what is said"}}
	for _, m := range []struct {
		what string
		make func(*v1beta1.ArtifactGenerator)
	}{
		{"two sources with one alias", func(g *v1beta1.ArtifactGenerator) { g.Spec.Sources = append(g.Spec.Sources, g.Spec.Sources[0]) }},
		{"an alias that no source has", func(g *v1beta1.ArtifactGenerator) { first(g).Copy[0].From = "@sauce/**" }},
		{"two artifacts with one name", func(g *v1beta1.ArtifactGenerator) { g.Spec.Artifacts = append(g.Spec.Artifacts, *first(g)) }},
		{"a name that Kubernetes refuses", func(g *v1beta1.ArtifactGenerator) { first(g).Name = "My_App" }},
		{"a pattern that is none", func(g *v1beta1.ArtifactGenerator) { first(g).Copy[0].From = "@source/[a" }},
		{"more than 20 commas", func(g *v1beta1.ArtifactGenerator) {
			first(g).Copy[0].From = "@source/{" + strings.Repeat("a,", 21) + "a}"
		}},
		{"a way out of the artifact", func(g *v1beta1.ArtifactGenerator) { first(g).Copy[0].To = "@artifact/../x" }},
		{"a placeholder without `pathPattern`", func(g *v1beta1.ArtifactGenerator) { first(g).InputsFrom = "@source/{app}.yaml" }},
		{"a placeholder that nothing captures", func(g *v1beta1.ArtifactGenerator) {
			g.Spec.PathPattern, first(g).Name = "@source/apps/{app}", "{name}"
		}},
		{"a file that is not in the source", func(g *v1beta1.ArtifactGenerator) { first(g).Copy[0].From = "@source/nothing.yaml" }},
		{"a pattern that matches nothing", func(g *v1beta1.ArtifactGenerator) { first(g).Copy[0].From = "@source/*.json" }},
		{"a directory in the place of a tarball", func(g *v1beta1.ArtifactGenerator) {
			first(g).Copy[0] = v1beta1.Copy{From: "@source/apps", To: "@artifact/", Strategy: v1beta1.CopyExtract}
		}},
		{"inputs that are not there", func(g *v1beta1.ArtifactGenerator) { first(g).InputsFrom = "@artifact/inputs.yaml" }},
		{"a directory whose name is no label", func(g *v1beta1.ArtifactGenerator) {
			g.Spec.PathPattern, first(g).Name = "@source/odd/{name}", "{name}"
		}},
		{"directories that differ in case alone", func(g *v1beta1.ArtifactGenerator) {
			g.Spec.PathPattern, first(g).Name = "@source/twins/{name}", "{name}"
		}},
	} {
		b := build(t, generatorOf(t, m.make), dirs)
		if b.code != 1 {
			t.Fatalf("%s: exit code %d: %s", m.what, b.code, b.errors)
		}
		for line := range strings.Lines(b.errors) {
			reason, text, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "Error: "), ": ")
			rows = append(rows, []string{m.what, "`" + reason + "`", "`" + strings.ReplaceAll(text, "|", "\\|") + "`"})
		}
	}
	return rows
}
