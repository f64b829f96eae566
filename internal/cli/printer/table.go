package printer

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/internal/view"
)

const (
	// gap is the space between two columns, as kubectl has it.
	gap = 3
	// most is how much of a long cell is shown, in characters.
	most = 100
)

// table remembers how wide its columns are, so that rows which come later stand
// below those that are there.
type table struct {
	widths []int
	begun  bool
}

// Table prints rows below a header, if there is one. Cells are not cut.
func Table(w io.Writer, header []string, rows [][]string) error {
	var lines [][]string
	if header != nil {
		lines = append(lines, header)
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = view.Line(cell)
		}
		lines = append(lines, cells)
	}
	var t table
	_, err := w.Write(t.lines(lines))
	return err
}

// rows prints a row for each object, below the header if that was not printed.
func (p *Printer) rows(w io.Writer, objects []unstructured.Unstructured) error {
	if len(objects) == 0 {
		return nil
	}
	var lines [][]string
	if !p.table.begun && !p.options.NoHeaders {
		lines = append(lines, p.header())
	}
	p.table.begun = true
	for i := range objects {
		cells, err := p.row(&objects[i])
		if err != nil {
			return err
		}
		lines = append(lines, cells)
	}
	_, err := w.Write(p.table.lines(lines))
	return err
}

func (p *Printer) header() []string {
	var out []string
	if p.options.Namespaces {
		out = append(out, "NAMESPACE")
	}
	out = append(out, "NAME")
	for _, c := range p.kind.Columns {
		if p.format == "wide" || !c.Wide {
			out = append(out, c.Header)
		}
	}
	return out
}

func (p *Printer) row(o *unstructured.Unstructured) ([]string, error) {
	cells, err := p.kind.Row(o, p.options.Now())
	if err != nil {
		return nil, err
	}
	var out []string
	if p.options.Namespaces {
		out = append(out, o.GetNamespace())
	}
	out = append(out, o.GetName())
	for i, c := range p.kind.Columns {
		cell := view.Line(cells[i])
		switch {
		case p.format == "wide":
		case c.Wide:
			continue
		case c.Long:
			cell = cut(cell)
		}
		out = append(out, cell)
	}
	return out, nil
}

func cut(s string) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// lines aligns cells in columns, but for the last of each line.
func (t *table) lines(lines [][]string) []byte {
	for _, line := range lines {
		for i, cell := range line {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell)+gap)
		}
	}
	var out bytes.Buffer
	for _, line := range lines {
		for i, cell := range line {
			out.WriteString(cell)
			if i < len(line)-1 {
				out.WriteString(strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)))
			}
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}
