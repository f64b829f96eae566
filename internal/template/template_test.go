package template_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/template"
)

var update = flag.Bool("update", false, "rewrite what is wanted in testdata")

var noon = time.Date(2026, 8, 31, 12, 0, 0, 0, time.UTC)

// options are the file options of an archive.
type options struct {
	MissingKey v1beta2.MissingKey `json:"missingKey"`
	template.Limits
}

// Each file of testdata is one template with what it renders: the manifests,
// or the error.
func TestRender(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("found no cases, error %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			var o options
			data := template.Data{}
			for name, into := range map[string]any{"options": &o, "data": &data} {
				if err := yaml.UnmarshalStrict([]byte(files[name]), into); err != nil {
					t.Fatal(err)
				}
			}
			before, err := json.Marshal(data)
			if err != nil {
				t.Fatal(err)
			}
			name, got := render(t, files["template"], o, data)
			if after, err := json.Marshal(data); string(after) != string(before) || err != nil {
				t.Errorf("the data was changed to %s, error %v", after, err)
			}
			if *update {
				archive.Files = append(drop(archive.Files, "want", "want-error"), txtar.File{Name: name, Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(files[name], got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

func drop(files []txtar.File, names ...string) []txtar.File {
	var out []txtar.File
	for _, f := range files {
		if f.Name != names[0] && f.Name != names[1] {
			out = append(out, f)
		}
	}
	return out
}

// render returns the name of the file that is wanted, and its content.
func render(t *testing.T, text string, o options, data template.Data) (name, content string) {
	t.Helper()
	g, err := template.Compile(v1beta2.Generator{Template: text, MissingKey: o.MissingKey}, o.Limits)
	if err != nil {
		return "want-error", err.Error() + "\n"
	}
	docs, err := g.Render(t.Context(), data, noon)
	if err != nil {
		return "want-error", err.Error() + "\n"
	}
	var b strings.Builder
	for _, d := range docs {
		y, err := yaml.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n" + string(y))
	}
	again, err := g.Render(t.Context(), data, noon)
	if err != nil || cmp.Diff(docs, again) != "" && !strings.Contains(text, "random") {
		t.Errorf("the second render differs, error %v:\n%s", err, cmp.Diff(docs, again))
	}
	return "want", b.String()
}

func TestText(t *testing.T) {
	vars := template.VarsOf("solar", "solar-a")
	for text, want := range map[string]string{
		"":                                      "",
		"plain {x}":                             "plain {x}",
		"{{tenant.name}}-{{ namespace }}":       "solar-solar-a",
		"{{  tenant.name\t}}":                   "solar",
		"R42 {{nothing}}|{{.namespace}}|{{ }}":  "R42 ||",
		"open {{tenant.name":                    "open {{tenant.name",
		"close }} {{namespace}}":                "close }} solar-a",
		"{{tenant.name}}{{ tenant.name }}{{":    "solarsolar{{",
		"not twice {{ {{tenant.name}} }}":       "not twice  }}",
		"{{Tenant.Name}} is another key":        " is another key",
		"{{tenant . name}} is another key, too": " is another key, too",
	} {
		if got := vars.Text(text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	if got := template.VarsOf("solar", "").Text("{{namespace}}"); got != "" {
		t.Errorf("without a namespace: %q", got)
	}
}

// R42, R53: placeholders stand in keys and values, and nothing of the result is
// shared with the data.
func TestValue(t *testing.T) {
	data := map[string]any{"{{namespace}}": []any{"{{tenant.name}}", int64(1), nil, true, map[string]any{"k": "{{namespace}}"}}}
	var got []any
	for _, ns := range []string{"a", "b"} {
		v, err := template.VarsOf("t", ns).Value(data)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	want := []any{
		map[string]any{"a": []any{"t", int64(1), nil, true, map[string]any{"k": "a"}}},
		map[string]any{"b": []any{"t", int64(1), nil, true, map[string]any{"k": "b"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err := template.VarsOf("t", "a").Value(map[string]any{"x": []any{map[string]any{"{{a}}": 1, "{{b}}": 2}}})
	if err == nil || err.Error() != `.x[0]: two keys become "", one of them is "{{b}}"` {
		t.Errorf("error %v", err)
	}
	if _, err := template.VarsOf("t", "a").Strings(map[string]string{"{{a}}": "", "{{b}}": ""}); err == nil {
		t.Error("two keys became one")
	}
	m, err := template.VarsOf("t", "a").Strings(map[string]string{"{{namespace}}": "{{tenant.name}}"})
	if m["a"] != "t" || err != nil {
		t.Errorf("got %v, error %v", m, err)
	}
}

// Loops that print nothing end too, and the time of the caller ends a render.
func TestTimeEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	g, err := template.Compile(v1beta2.Generator{Template: "{{range 1000000000}}{{end}}"}, template.Limits{Steps: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Render(ctx, nil, noon); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("error %v", err)
	}
}

// The functions for age keys give new keys, and one that fits the other.
func TestAgeKeys(t *testing.T) {
	for _, fn := range []string{"generateAgeKey", "generateAgePQKey"} {
		g, err := template.Compile(v1beta2.Generator{Template: `{{- $k := ` + fn + ` -}}
apiVersion: v1
kind: Secret
data: {identity: "{{ $k.Identity }}", recipient: "{{ $k.Recipient }}"}
`}, template.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[any]bool{}
		for range 3 {
			docs, err := g.Render(t.Context(), nil, noon)
			if err != nil {
				t.Fatal(err)
			}
			data := docs[0]["data"].(map[string]any)
			identity, recipient := data["identity"].(string), data["recipient"].(string)
			if !strings.HasPrefix(identity, "AGE-SECRET-KEY-") || !strings.HasPrefix(recipient, "age1") || seen[identity] {
				t.Errorf("%s: identity %.20q, recipient %.20q", fn, identity, recipient)
			}
			seen[identity] = true
		}
	}
}

// R54: no function reaches beyond the template. A new version of sprig that
// brings functions shows up here.
func TestFunctions(t *testing.T) {
	got := strings.Join(template.Functions(), "\n") + "\n"
	const file = "testdata/functions.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"env", "expandenv", "getHostByName", "readFile", "include", "lookup"} {
		if strings.Contains(got, "\n"+name+"\n") {
			t.Errorf("%s is there", name)
		}
	}
}

// A template may do anything but change its data, panic, run long or render
// what is no manifest.
func FuzzRender(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if file.Name == "template" {
				f.Add(string(file.Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "gen") || strings.Contains(text, "bcrypt") || strings.Contains(text, "htpasswd") || strings.Contains(text, "derive") {
			t.Skip("slow on purpose")
		}
		g, err := template.Compile(v1beta2.Generator{Template: text}, template.Limits{Output: 4096, Steps: 1000, Documents: 10})
		if err != nil {
			return
		}
		data := template.Data{"tenant": map[string]any{"metadata": map[string]any{"name": "t", "labels": map[string]any{"a": "b"}}, "l": []any{int64(1), "x"}}}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		docs, err := g.Render(ctx, data, noon)
		if ctx.Err() != nil {
			t.Fatal("it runs long")
		}
		if err == nil && len(docs) > 10 {
			t.Fatalf("%d documents", len(docs))
		}
		for _, d := range docs {
			if d["kind"] == nil || d["apiVersion"] == nil {
				t.Fatalf("%v is no manifest", d)
			}
		}
		want := template.Data{"tenant": map[string]any{"metadata": map[string]any{"name": "t", "labels": map[string]any{"a": "b"}}, "l": []any{int64(1), "x"}}}
		if diff := cmp.Diff(want, data); diff != "" {
			t.Fatalf("the data changed:\n%s", diff)
		}
	})
}
