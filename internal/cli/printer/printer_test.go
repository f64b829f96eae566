package printer_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/internal/cli/kind"
	"github.com/weir-dev/weir/internal/cli/printer"
)

// thing is a kind with one column of each sort, filled from the object.
var thing = kind.Kind{
	Singular: "thing",
	Columns:  []kind.Column{{Header: "STATE"}, {Header: "MORE", Wide: true}, {Header: "TEXT", Long: true}},
	Row: func(o *unstructured.Unstructured, _ time.Time) ([]string, error) {
		spec, _, err := unstructured.NestedStringMap(o.Object, "spec")
		return []string{spec["state"], spec["more"], spec["text"]}, err
	},
}

func object(name, state, text string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "ns", "managedFields": []any{map[string]any{"manager": "m"}}},
		"spec":     map[string]any{"state": state, "more": "m", "text": text},
	}}
}

// TestStream: what comes later stands below what was there.
func TestStream(t *testing.T) {
	var out bytes.Buffer
	p, err := printer.New(thing, "table", printer.Options{Namespaces: true, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range [][]unstructured.Unstructured{
		{}, {object("a", "ready", "")}, {object("b", "no", "x")}, {object("much-longer", "no", "y")}, {object("c", "é", "z")},
	} {
		if err := p.Each(&out, batch); err != nil {
			t.Fatal(err)
		}
	}
	const want = `NAMESPACE   NAME   STATE   TEXT
ns          a      ready   
ns          b      no      x
ns          much-longer   no      y
ns          c             é       z
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCells: a cell is one line of printable characters, and not longer than a
// table takes unless that is asked for.
func TestCells(t *testing.T) {
	long := strings.Repeat("é", 101)
	for format, want := range map[string]string{
		"":     "NAME   STATE   TEXT\na      b c     " + strings.Repeat("é", 99) + "…\n",
		"wide": "NAME   STATE   MORE   TEXT\na      b c     m      " + long + "\n",
	} {
		var out bytes.Buffer
		p, err := printer.New(thing, format, printer.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.All(&out, []unstructured.Unstructured{object("a", " b\n\tc ", long)}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", format, diff)
		}
	}
	var out bytes.Buffer
	p, _ := printer.New(thing, "", printer.Options{NoHeaders: true, Now: time.Now})
	if err := p.All(&out, []unstructured.Unstructured{object("a", "\x1b[31m\u0085\x00", "")}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x00\u0085") {
		t.Errorf("%q has what terminals obey", out.String())
	}
}

// TestDocuments: objects one by one are documents that programs can tell apart.
func TestDocuments(t *testing.T) {
	for format, want := range map[string]string{
		"yaml":                            "metadata:\n  name: a\n---\nmetadata:\n  name: b\n",
		"json":                            "{\n    \"metadata\": {\n        \"name\": \"a\"\n    }\n}\n{\n    \"metadata\": {\n        \"name\": \"b\"\n    }\n}\n",
		`jsonpath={.metadata.name}{"\n"}`: "a\nb\n",
	} {
		var out bytes.Buffer
		p, err := printer.New(thing, format, printer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a, b := object("a", "", ""), object("b", "", "")
		for _, o := range []*unstructured.Unstructured{&a, &b} {
			delete(o.Object, "spec")
			o.SetNamespace("")
		}
		if err := p.Each(&out, []unstructured.Unstructured{a, b}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
		if len(a.GetManagedFields()) == 0 {
			t.Errorf("%s changed the object", format)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, format := range append(printer.Formats(), "", "table") {
		if strings.HasSuffix(format, "=") {
			format += "{.metadata}"
		}
		if _, err := printer.New(thing, format, printer.Options{}); err != nil {
			t.Errorf("%q: %v", format, err)
		}
	}
	for _, format := range []string{"xml", "JSON", "jsonpath", "jsonpath=", "jsonpath={", "go-template={{.}}"} {
		if _, err := printer.New(thing, format, printer.Options{}); err == nil {
			t.Errorf("%q is taken", format)
		}
	}
}
