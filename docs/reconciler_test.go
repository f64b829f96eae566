package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

const page = "reconciler.md"

// reconcilerTables are the tables of the page.
var reconcilerTables = map[string]func(*testing.T) table{
	"policies":   policiesTable,
	"adoption":   adoptionTable,
	"reconcile":  reconcileTable,
	"update":     updateTable,
	"delete":     deleteTable,
	"namespaces": namespacesTable,
	"purge":      purgeTable,
	"gates":      gatesTable,
	"directives": directivesTable,
	"shared":     sharedTable,
	"leaving":    leavingTable,
	"verbs":      func(t *testing.T) table { return constants(t, "Verb", "verb") },
	"reasons":    func(t *testing.T) table { return constants(t, "Reason", "reason") },
}

// TestExample: the example of the page is the one that runs.
func TestExample(t *testing.T) {
	_, code, _ := strings.Cut(read(t, "example_test.go"), "\t// begin\n")
	code, _, _ = strings.Cut(code, "\t// end\n")
	code = strings.TrimPrefix(strings.ReplaceAll(code, "\n\t", "\n"), "\t")
	if !strings.Contains(read(t, page), "```go\n"+code+"```\n") {
		t.Errorf("the page does not contain\n%s", code)
	}
}

// TestCache: the lines about a cache are those of the sample operator.
func TestCache(t *testing.T) {
	blocks := strings.Split(read(t, page), "```go\n")
	lines, _, _ := strings.Cut(blocks[len(blocks)-1], "```")
	operator := read(t, "../examples/operator/main.go")
	for line := range strings.Lines(lines) {
		if !strings.Contains(operator, "\t"+line) {
			t.Errorf("the sample operator has no line %q", line)
		}
	}
}

// TestAnnotations: the page names every annotation.
func TestAnnotations(t *testing.T) {
	n := 0
	for _, spec := range specs(t, "../pkg/reconciler/policy/annotation.go", token.CONST) {
		s := spec.(*ast.ValueSpec)
		if !strings.HasSuffix(s.Names[0].Name, "Annotation") {
			continue
		}
		n++
		name := "`<name>/" + strings.Trim(s.Values[0].(*ast.BasicLit).Value, `"`) + "`"
		if !strings.Contains(read(t, page), "| "+name+" |") {
			t.Errorf("%s is not on the page", name)
		}
	}
	if n == 0 {
		t.Error("there are no annotations")
	}
}

// TestFaults: the page names every error of package fault, and no other.
func TestFaults(t *testing.T) {
	var want []string
	for _, spec := range specs(t, "../pkg/reconciler/fault/fault.go", token.TYPE) {
		if s := spec.(*ast.TypeSpec); s.Name.Name != "Field" {
			want = append(want, s.Name.Name)
		}
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `\\*fault\\.(\\w+)`").FindAllStringSubmatch(read(t, page), -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestNotApplicable: requirements that do not apply come last on the page.
func TestNotApplicable(t *testing.T) {
	_, last, ok := strings.Cut(read(t, page), "\n## Not applicable\n")
	if !ok || strings.Contains(last, "\n## ") {
		t.Error("the section is missing or not the last one")
	}
	for line := range strings.Lines(last) {
		if strings.HasPrefix(line, "- ") && !regexp.MustCompile(`^- R\d+: .`).MatchString(line) {
			t.Errorf("%q is not `- R<number>: reason`", line)
		}
	}
}

// specs returns the declarations of a file that the token introduces.
func specs(t *testing.T, file string, tok token.Token) (all []ast.Spec) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == tok {
			all = append(all, d.Specs...)
		}
	}
	return all
}

// constants are those of a type of package plan, with their comments.
func constants(t *testing.T, typ, head string) table {
	rows := table{{head, "meaning"}}
	for _, spec := range specs(t, "../pkg/reconciler/plan/action.go", token.CONST) {
		s := spec.(*ast.ValueSpec)
		if id, ok := s.Type.(*ast.Ident); !ok || id.Name != typ {
			continue
		}
		value := strings.Trim(s.Values[0].(*ast.BasicLit).Value, `"`)
		if value != s.Names[0].Name {
			t.Errorf("constant %s is %q", s.Names[0].Name, value)
		}
		rows = append(rows, []string{"`" + value + "`", strings.TrimSpace(s.Comment.Text())})
	}
	return rows
}

// state is a situation that an object can be in.
type state struct {
	name string
	set  func(*plan.Facts)
}

// decide tells what plan.Apply or plan.Remove makes of each state in each
// column, where column sets what a column stands for.
func decide[C ~string](decide func(plan.Facts) plan.Outcome, head string, columns []C, column func(*plan.Facts, C), states []state) table {
	rows := table{{head}}
	for _, c := range columns {
		rows[0] = append(rows[0], string(c))
	}
	for _, s := range states {
		row := []string{s.name}
		for _, c := range columns {
			f := facts()
			column(&f, c)
			s.set(&f)
			row = append(row, cell(decide(f).Action))
		}
		rows = append(rows, row)
	}
	return rows
}

func cell(a plan.Action) string {
	reasons := make([]string, len(a.Reasons))
	for i, r := range a.Reasons {
		reasons[i] = string(r)
	}
	if len(reasons) == 0 {
		return string(a.Verb)
	}
	return string(a.Verb) + ": " + strings.Join(reasons, ", ")
}

// defaults is the policy of an object that says nothing.
var defaults = policy.Policy{
	Adoption: policy.AdoptIfUnowned, Reconcile: policy.OnObjectChange, Update: policy.Replace,
	Delete: policy.DeleteAlways, Conflict: policy.Force, Immutable: policy.Refuse,
}
