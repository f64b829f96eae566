package docs_test

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/cli"
)

// example is a generator of the page, and what uses its artifacts.
type example struct {
	generator unstructured.Unstructured
	consumers []unstructured.Unstructured
}

// blocks returns the blocks of a page in a language.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllStringSubmatch(read(t, page), -1) {
		out = append(out, m[1]+"\n")
	}
	if len(out) == 0 {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return out
}

// examples returns those of the page. Blocks without a kind are parts of
// objects.
func examples(t *testing.T) []example {
	t.Helper()
	var out []example
	for _, block := range blocks(t, generators, "yaml") {
		if !strings.Contains(block, "kind: "+v1beta1.KindArtifactGenerator+"\n") {
			continue
		}
		var e example
		for i, doc := range strings.Split(block, "---\n") {
			var o unstructured.Unstructured
			if err := yaml.UnmarshalStrict([]byte(doc), &o.Object); err != nil {
				t.Fatalf("%v in\n%s", err, doc)
			}
			if i == 0 {
				e.generator = o
			} else {
				e.consumers = append(e.consumers, o)
			}
		}
		if e.generator.GetKind() != v1beta1.KindArtifactGenerator || len(e.consumers) == 0 {
			t.Errorf("an example is a generator and what uses it:\n%s", block)
		}
		out = append(out, e)
	}
	return out
}

// TestExamples: the generators of the page build, and their consumers find what
// they ask for.
func TestExamples(t *testing.T) {
	for _, e := range examples(t) {
		t.Run(e.generator.GetName(), func(t *testing.T) {
			manifest, err := yaml.Marshal(e.generator.Object)
			if err != nil {
				t.Fatal(err)
			}
			b := build(t, string(manifest), sources(t, e.generator.GetName()))
			if b.code != 0 || b.errors != "" || len(b.artifacts) == 0 {
				t.Fatalf("exit code %d, %d artifacts: %s", b.code, len(b.artifacts), b.errors)
			}
			for _, a := range b.artifacts {
				if strings.Contains(string(manifest), "inputsFrom") && len(a.ExportedInputs) == 0 {
					t.Errorf("%s exports no inputs", a.Name)
				}
			}
			for _, c := range e.consumers {
				consumes(t, b, c)
			}
		})
	}
}

// consumes checks that a consumer asks for an artifact that there is.
func consumes(t *testing.T, b built, c unstructured.Unstructured) {
	t.Helper()
	field := map[string]string{"Kustomization": "sourceRef", "HelmRelease": "chartRef"}[c.GetKind()]
	ref, _, _ := unstructured.NestedStringMap(c.Object, "spec", field)
	if ref["kind"] != "ExternalArtifact" || !slices.ContainsFunc(b.artifacts, func(a artifact) bool {
		return a.Name == ref["name"] && a.Namespace == c.GetNamespace()
	}) {
		t.Errorf("%s %s refers to %v, and there is %v", c.GetKind(), c.GetName(), ref, b.artifacts)
		return
	}
	dir := filepath.Join(b.dir, c.GetNamespace(), ref["name"])
	if path, ok, _ := unstructured.NestedString(c.Object, "spec", "path"); ok {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Errorf("path of %s: %v", c.GetName(), err)
		}
	}
	if c.GetKind() == "HelmRelease" {
		// helm-controller wants the chart in a directory of its name.
		if charts, _ := filepath.Glob(filepath.Join(dir, "*", "Chart.yaml")); len(charts) != 1 {
			t.Errorf("the artifact of %s has the charts %v", c.GetName(), charts)
		}
	}
}

// TestExamplesAreAdmitted: an API server takes what the pages show.
func TestExamplesAreAdmitted(t *testing.T) {
	ctx := t.Context()
	cluster := shared.Cluster(t)
	clnt, err := client.New(cluster.Admin(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../config/crd/*.fluxcd.io_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../config/crd/capsule.*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(read(t, file)), &crd.Object); err != nil {
			t.Fatal(err)
		}
		if err := clnt.Create(ctx, crd); err != nil {
			t.Fatal(err)
		}
	}
	dry := client.NewDryRunClient(client.WithFieldValidation(clnt, metav1.FieldValidationStrict))
	for _, o := range shown(t) {
		if o.GetNamespace() != "" {
			o.SetNamespace("default")
		}
		var last error
		// A definition is served some time after it was made.
		_ = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			last = dry.Create(ctx, o.DeepCopy())
			return !apimeta.IsNoMatchError(last) && !apierrors.IsNotFound(last), nil
		})
		if last != nil {
			t.Errorf("%s: %v", o.GetName(), last)
		}
	}
}

// shown are the objects that pages show whole, but for those whose kinds are
// Flux's.
func shown(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, e := range examples(t) {
		out = append(out, e.generator.DeepCopy())
	}
	for _, page := range []string{replications, fromCapsule, fromReflector, "../README.md"} {
		for _, block := range blocks(t, page, "yaml") {
			for doc := range strings.SplitSeq(block, "\n---\n") {
				var o unstructured.Unstructured
				if err := yaml.UnmarshalStrict([]byte(doc), &o.Object); err != nil {
					t.Fatalf("%v in\n%s", err, doc)
				}
				if o.GetKind() != "" {
					out = append(out, &o)
				}
			}
		}
	}
	return out
}

// TestCommands: the command lines of the pages are right.
func TestCommands(t *testing.T) {
	n := 0
	var all []string
	for _, page := range []string{generators, replications} {
		all = append(all, blocks(t, page, "sh")...)
	}
	for _, page := range []string{replications, fromCapsule, fromReflector} {
		for _, block := range blocks(t, page, "console") {
			all = append(all, strings.ReplaceAll("\n"+block, "\n$ ", "\n"))
		}
	}
	for _, block := range all {
		for line := range strings.Lines(block) {
			args := strings.Fields(line)
			if len(args) == 0 || args[0] != "weir" {
				continue
			}
			n++
			// Flags in front of --help are parsed, and nothing is done.
			var errs strings.Builder
			code := cli.Run(t.Context(), append(args, "--help"), cli.Env{
				Getenv: func(string) string { return "" }, Out: io.Discard, Err: &errs,
			})
			if code != 0 {
				t.Errorf("%s: %s", strings.TrimSpace(line), errs.String())
			}
		}
	}
	if n == 0 {
		t.Error("there are no command lines")
	}
}

// TestLinks: what a page refers to is on it, or on another one.
func TestLinks(t *testing.T) {
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no pages, error %v", err)
	}
	for _, page := range append(files, "../README.md", "../ARCHITECTURE.md", "../CHANGELOG.md") {
		for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(read(t, page), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, ":") {
				continue // elsewhere in the world
			}
			file = cmp.Or(file, filepath.Base(page))
			file = filepath.Join(filepath.Dir(page), file)
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if anchor != "" && !headings(t, file)[anchor] {
				t.Errorf("%s: there is no heading for %s", page, m[1])
			}
		}
	}
}

// headings are the anchors of the headings of a page.
func headings(t *testing.T, page string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^#+ (.+)$").FindAllStringSubmatch(read(t, page), -1) {
		slug := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return out
}
