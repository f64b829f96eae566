// Package view shows what was built, and what would be done, to people and
// programs: as a table, as JSON and as YAML. It decides nothing and prints only
// to the writer it gets.
package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/fail"
)

// Report is what a build made and what went wrong. Its JSON is stable.
type Report struct {
	Artifacts  []Artifact  `json:"artifacts"`
	Namespaces []Namespace `json:"namespaces"`
	Error      *Error      `json:"error,omitempty"`
}

// Artifact is an artifact in a report.
type Artifact struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Revision  string `json:"revision"`
	// Digest is that of the tarball, with its algorithm in front.
	Digest string `json:"digest"`
	// Size is that of the tarball, in bytes.
	Size int64 `json:"size"`
	// Files is the number of regular files.
	Files          int                             `json:"files"`
	Labels         map[string]string               `json:"labels,omitempty"`
	Annotations    map[string]string               `json:"annotations,omitempty"`
	OriginRevision string                          `json:"originRevision,omitempty"`
	ExportedInputs map[string]apiextensionsv1.JSON `json:"exportedInputs,omitempty"`
}

// Namespace is a managed namespace in a report.
type Namespace struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Error is what went wrong.
type Error struct {
	Reason string `json:"reason"`
	// Stalled says that trying again is of no use until the spec changes.
	Stalled bool   `json:"stalled"`
	Message string `json:"message"`
}

// ErrorOf returns errs as part of a report, nil for none. It is stalled only
// when all of them are, for else trying again may help; its reason is that of
// the first error of its class. An error without a reason has the one given.
func ErrorOf(reason string, errs ...error) *Error {
	err := fail.Join(errs...)
	if err == nil {
		return nil
	}
	out := &Error{Message: err.Error()}
	for _, err := range errs {
		if err == nil {
			continue
		}
		one := Error{Reason: reason}
		if e, ok := fail.As(err); ok {
			one = Error{Reason: e.Reason, Stalled: e.Class == fail.Stall}
		}
		if out.Reason == "" || out.Stalled && !one.Stalled {
			out.Reason, out.Stalled = one.Reason, one.Stalled
		}
	}
	return out
}

// Format is how a report is printed.
type Format string

// The formats, as a command line names them.
const (
	Table Format = "table"
	JSON  Format = "json"
	YAML  Format = "yaml"
)

// Print writes r. A table holds what was built and not the error, which is for
// the caller to tell on another stream.
func (r *Report) Print(w io.Writer, f Format) error {
	var data []byte
	var err error
	switch f {
	case JSON:
		data, err = r.json()
	case YAML:
		if data, err = r.json(); err == nil {
			data, err = yaml.JSONToYAML(data)
		}
	default:
		data = r.table()
	}
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// json returns r with empty lists for missing ones, so that programs can loop
// over them.
func (r *Report) json() ([]byte, error) {
	full := *r
	if full.Artifacts == nil {
		full.Artifacts = []Artifact{}
	}
	if full.Namespaces == nil {
		full.Namespaces = []Namespace{}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(full)
	return out.Bytes(), err
}

// table returns r for people. Nothing fails: it is made in memory.
func (r *Report) table() []byte {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	if len(r.Artifacts) > 0 {
		fmt.Fprintln(w, "NAMESPACE\tARTIFACT\tFILES\tSIZE\tREVISION")
	}
	for _, a := range r.Artifacts {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", a.Namespace, a.Name, a.Files, size(a.Size), short(a.Revision))
	}
	_ = w.Flush()
	if len(r.Namespaces) == 0 {
		return out.Bytes()
	}
	if len(r.Artifacts) > 0 {
		fmt.Fprintln(&out)
	}
	fmt.Fprintln(w, "MANAGED NAMESPACE\tLABELS\tANNOTATIONS")
	for _, n := range r.Namespaces {
		fmt.Fprintf(w, "%s\t%s\t%s\n", n.Name, pairs(n.Labels), pairs(n.Annotations))
	}
	_ = w.Flush()
	return out.Bytes()
}
