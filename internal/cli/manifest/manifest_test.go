package manifest_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/cli/manifest"
	"github.com/weir-dev/weir/internal/fail"
)

const generator = "apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nmetadata: {name: a}\nspec: {}\n"

// The scripts of the cli package hold what people see; this holds the shapes
// of files that editors and other systems leave.
func TestLoad(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // names of the sound generators, and ! for each other
	}{
		"one":                     {generator, "default/a"},
		"a byte order mark":       {"\ufeff" + generator, "default/a"},
		"line ends of Windows":    {strings.ReplaceAll(generator+"---\n"+generator, "\n", "\r\n"), "default/a !"},
		"separators all over":     {"---\n---\n# none\n---\n" + generator + "---\n", "default/a"},
		"a separator with text":   {"--- # first\n" + generator, "default/a"},
		"JSON with tabs":          {"{\n\t\"apiVersion\": \"source.extensions.fluxcd.io/v1beta1\",\n\t\"kind\": \"ArtifactGenerator\",\n\t\"metadata\": {\"name\": \"a\"}}", "default/a"},
		"a list in a list":        {"kind: List\nitems:\n- kind: List\n  items:\n  - " + strings.ReplaceAll(generator, "\n", "\n    ") + "\n", "default/a"},
		"not an object":           {"- a\n---\nb\n---\n1\n---\nkind: [a]\n---\nnull\n---\n" + generator, "default/a"},
		"a list without items":    {"kind: List\n---\nkind: List\nitems: []\n---\n" + generator, "default/a"},
		"another group's":         {"apiVersion: example.com/v1\nkind: ArtifactGenerator\n", "!"},
		"its metadata":            {"apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: NamespaceMetadata\n---\n" + generator, "default/a"},
		"a field in another case": {strings.Replace(generator, "spec", "Spec", 1), "!"},
		"a repeated field":        {`{"apiVersion":"source.extensions.fluxcd.io/v1beta1","kind":"ArtifactGenerator","metadata":{"name":"a","name":"a"}}`, "!"},
		"broken before":           {"a: [\n---\n" + generator, "! default/a"},
		"broken after":            {generator + "---\n\ta", "default/a !"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := manifest.Load(t.Context(), []string{"-"}, strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, g := range got {
				if g.Invalid != nil {
					names = append(names, "!")
					t.Log(g.Invalid)
					continue
				}
				names = append(names, g.String())
			}
			if have := strings.Join(names, " "); have != c.want {
				t.Errorf("have %q, want %q", have, c.want)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(generator))
	f.Add([]byte("kind: List\nitems: [{kind: List, items: []}]"))
	f.Add([]byte("a: &a [*a, *a]"))
	f.Add([]byte("? [a]\n: b\n---\n!!binary x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := manifest.Load(t.Context(), []string{"-"}, bytes.NewReader(data))
		if (err == nil) == (len(got) == 0) {
			t.Fatalf("%d generators and the error %v", len(got), err)
		}
		for _, g := range got {
			if g.Invalid == nil {
				if g.Object.Name == "" || g.Object.Namespace == "" {
					t.Errorf("a sound generator without a name: %+v", g.Object)
				}
				continue
			}
			e, ok := fail.As(g.Invalid)
			if !ok || e.Class != fail.Stall || strings.Contains(e.Error(), "\n") {
				t.Errorf("not a stalled error of one line: %q", g.Invalid)
			}
		}
	})
}
