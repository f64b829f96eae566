package template

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// Limits bound one render. Zero fields mean the defaults.
type Limits struct {
	// Output is how many bytes a render, and each value on its way, may have;
	// zero means 1 MiB.
	Output int
	// Documents is how many there may be; zero means 1000.
	Documents int
	// Steps is how many rounds of loops and calls of functions there may be; zero
	// means 1,000,000.
	Steps int
}

func (l Limits) withDefaults() Limits {
	return Limits{Output: cmp.Or(l.Output, 1<<20), Documents: cmp.Or(l.Documents, 1000), Steps: cmp.Or(l.Steps, 1_000_000)}
}

// Generator is a compiled template. Concurrent use is safe.
type Generator struct {
	limits   Limits
	missing  v1beta2.MissingKey
	trees    []*parse.Tree // rewritten, and not changed any more
	names    []string      // of the functions that it calls
	mutates  bool          // it calls functions that change their arguments
	machines sync.Pool
}

// root is the name of the template as users wrote it.
const root = "template"

// Compile parses a template. A template that includes itself is refused.
func Compile(g v1beta2.Generator, l Limits) (*Generator, error) {
	t, err := template.New(root).Funcs(placeholders()).Parse(g.Template)
	if err != nil {
		return nil, tidy(err)
	}
	out := &Generator{limits: l.withDefaults(), missing: cmp.Or(g.MissingKey, v1beta2.MissingKeyZero)}
	r := rewriter{calls: map[string]bool{printer: true, ticker: true}, includes: map[string][]string{}}
	for _, each := range t.Templates() {
		if each.Tree != nil && each.Root != nil {
			r.tree(each.Tree)
			out.trees = append(out.trees, each.Tree)
		}
	}
	if err := r.acyclic(); err != nil {
		return nil, err
	}
	for name := range r.calls {
		out.names = append(out.names, name)
		out.mutates = out.mutates || mutating[name]
	}
	return out, nil
}

// Data is what a template knows: JSON data as unstructured objects have it. It is
// not changed.
type Data map[string]any

// Render returns the manifests that the template renders, each with apiVersion
// and kind. Documents that are empty or have neither are left out. Nothing of
// the result is shared.
func (g *Generator) Render(ctx context.Context, data Data, now time.Time) ([]map[string]any, error) {
	m, ok := g.machines.Get().(*machine)
	if !ok {
		var err error
		if m, err = newMachine(g); err != nil {
			return nil, err
		}
	}
	text, err := m.run(ctx, data, now)
	if err != nil {
		return nil, err
	}
	docs, err := documents(text, g.limits.Documents)
	g.machines.Put(m)
	return docs, err
}

// machine is a template with functions that know the render under way. It does
// one render at a time.
type machine struct {
	*Generator

	template *template.Template
	out      bytes.Buffer

	ctx   context.Context
	now   time.Time
	steps int
}

func newMachine(g *Generator) (*machine, error) {
	m := &machine{Generator: g}
	option := "missingkey=invalid" // printer makes nothing of it for zero
	if g.missing == v1beta2.MissingKeyError {
		option = "missingkey=error"
	}
	m.template = template.New(root).Option(option).Funcs(m.functions())
	for _, tree := range g.trees {
		if _, err := m.template.AddParseTree(tree.Name, tree); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// run executes the template once.
func (m *machine) run(ctx context.Context, data Data, now time.Time) ([]byte, error) {
	m.ctx, m.now, m.steps = ctx, now, 0
	m.out.Reset()
	defer func() { m.ctx = nil }()
	if m.mutates {
		data = clone(data)
	}
	if len(m.trees) == 0 {
		return nil, nil
	}
	if err := m.template.Execute(m, map[string]any(data)); err != nil {
		return nil, tidy(err)
	}
	return bytes.Clone(m.out.Bytes()), nil
}

// Write takes output. It implements io.Writer for the template.
func (m *machine) Write(p []byte) (int, error) {
	if m.out.Len()+len(p) > m.limits.Output {
		return 0, fmt.Errorf("the output is larger than %d bytes", m.limits.Output)
	}
	return m.out.Write(p)
}

// step counts one step, and ends the render when there were too many or the
// time is over.
func (m *machine) step() error {
	m.steps++
	if m.steps > m.limits.Steps {
		return fmt.Errorf("more than %d steps", m.limits.Steps)
	}
	if m.steps%64 == 1 && m.ctx.Err() != nil {
		return fmt.Errorf("stopped after %d steps: %w", m.steps, context.Cause(m.ctx))
	}
	return nil
}

// tidy returns the error of a template without the words that say nothing to
// users.
func tidy(err error) error {
	if fe := new(template.ExecError); errors.As(err, fe) {
		err = fe.Err
	}
	text := err.Error()
	text = strings.TrimPrefix(text, "template: ")
	text = strings.Replace(text, `executing "`+root+`" at `, "", 1)
	for _, inner := range []string{printer, ticker} {
		text = strings.Replace(text, fmt.Sprintf("<%s>: error calling %[1]s: ", inner), "", 1)
	}
	return errors.New(text)
}
