// Package printer prints objects of a cluster in the formats of kubectl get.
// It reads nothing: the time comes in as a value.
package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/cli/kind"
)

// Formats are the formats as a command line names them, beside the empty one
// for a table. That of JSONPath needs a template.
func Formats() []string { return []string{"wide", "json", "yaml", "name", jsonPath} }

const jsonPath = "jsonpath="

// Options say how a table looks.
type Options struct {
	// Namespaces shows the namespace of each object.
	Namespaces bool
	NoHeaders  bool
	// Now is what ages are measured at; nil is only right without a table.
	Now func() time.Time
}

// Printer prints objects of one kind. What it prints later goes on with what
// it has printed before: a table has one header.
type Printer struct {
	kind    kind.Kind
	format  string
	path    *jsonpath.JSONPath
	options Options
	table   table
	printed bool
}

// New returns a printer for a format, "" or "table" for a table. The error
// says what is wrong with the format.
func New(k kind.Kind, format string, o Options) (*Printer, error) {
	p := &Printer{kind: k, format: format, options: o}
	text, isPath := strings.CutPrefix(format, jsonPath)
	switch {
	case isPath && text != "":
		p.path = jsonpath.New("output").AllowMissingKeys(true)
		if err := p.path.Parse(text); err != nil {
			return nil, fmt.Errorf("%q: %w", format, err)
		}
		return p, nil
	case isPath || format == "jsonpath":
		return nil, fmt.Errorf("%q needs a template, as in jsonpath={.metadata.name}", format)
	case format == "table":
		p.format = ""
	}
	switch p.format {
	case "", "wide", "json", "yaml", "name":
		return p, nil
	}
	return nil, fmt.Errorf("%q is none of table, wide, json, yaml, name and jsonpath=TEMPLATE", format)
}

// ShowsNothing reports whether nothing is printed of no objects, so that
// people should be told that there are none.
func (p *Printer) ShowsNothing() bool {
	return p.format == "" || p.format == "wide" || p.format == "name"
}

// Each prints objects one by one, as those are printed that were asked for by
// name or have changed.
func (p *Printer) Each(w io.Writer, objects []unstructured.Unstructured) error {
	if p.ShowsNothing() {
		return p.All(w, objects)
	}
	for i := range objects {
		if err := p.document(w, bare(&objects[i])); err != nil {
			return err
		}
	}
	return nil
}

// All prints objects, as a list where the format has lists.
func (p *Printer) All(w io.Writer, objects []unstructured.Unstructured) error {
	switch p.format {
	case "", "wide":
		return p.rows(w, objects)
	case "name":
		for i := range objects {
			if _, err := fmt.Fprintf(w, "%s.%s/%s\n", p.kind.Singular, p.kind.Resource.Group, objects[i].GetName()); err != nil {
				return err
			}
		}
		return nil
	}
	items := make([]any, len(objects))
	for i := range objects {
		items[i] = bare(&objects[i])
	}
	return p.document(w, map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items,
	})
}

// bare returns an object without what only API servers read.
func bare(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	return o.Object
}

func (p *Printer) document(w io.Writer, doc map[string]any) error {
	var out bytes.Buffer
	switch {
	case p.path != nil:
		if err := p.path.Execute(&out, doc); err != nil {
			return fmt.Errorf("--output: %w", err)
		}
	case p.format == "json":
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "    ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(doc); err != nil {
			return err
		}
	default:
		data, err := yaml.Marshal(doc)
		if err != nil {
			return err
		}
		if p.printed {
			out.WriteString("---\n")
		}
		out.Write(data)
	}
	p.printed = true
	_, err := w.Write(out.Bytes())
	return err
}
