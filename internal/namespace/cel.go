package namespace

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// MaxExpression is how many bytes a CEL expression may have.
const MaxExpression = 4096

// env makes the environments of Kubernetes' own CEL, with one string variable,
// once a process: it takes tens of milliseconds.
var env = sync.OnceValues(func() (map[string]*cel.Env, error) {
	base, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.StoredExpressions)
	if err != nil {
		return nil, err
	}
	out := map[string]*cel.Env{}
	for _, name := range []string{nameVariable, valueVariable} {
		if out[name], err = base.Extend(cel.Variable(name, cel.StringType)); err != nil {
			return nil, err
		}
	}
	return out, nil
})

const (
	nameVariable  = "ns"
	valueVariable = "value"
)

// rule is a compiled expression over one string.
type rule struct {
	text     string
	variable string
	program  cel.Program
}

// compileRule compiles an expression that must be a bool. What it may cost is
// limited as Kubernetes limits one call.
func compileRule(text, variable string) (rule, error) {
	if len(text) > MaxExpression {
		return rule{}, fmt.Errorf("%.40q… is longer than %d bytes", text, MaxExpression)
	}
	envs, err := env()
	if err != nil {
		return rule{}, err
	}
	ast, issues := envs[variable].Compile(text)
	if issues.Err() != nil {
		return rule{}, fmt.Errorf("%q does not compile: %s", text, firstOf(issues))
	}
	if ast.OutputType() != cel.BoolType {
		return rule{}, fmt.Errorf("%q is a %s, want a bool", text, ast.OutputType())
	}
	program, err := envs[variable].Program(ast,
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(apiservercel.PerCallLimit))
	if err != nil {
		return rule{}, fmt.Errorf("%q: %w", text, err)
	}
	return rule{text: text, variable: variable, program: program}, nil
}

// firstOf says in one line what is wrong and where: a condition has no room
// for the drawing that CEL makes of it.
func firstOf(issues *cel.Issues) string {
	e := issues.Errors()[0]
	return fmt.Sprintf("%s (column %d)", e.Message, e.Location.Column()+1)
}

func (r rule) accepts(value string) (bool, error) {
	out, _, err := r.program.Eval(map[string]any{r.variable: value})
	if err != nil {
		return false, fmt.Errorf("%q for %s = %q: %w", r.text, r.variable, value, err)
	}
	ok, isBool := out.Value().(bool)
	if !isBool {
		return false, errors.New("a CEL expression that compiled to bool evaluated to something else")
	}
	return ok, nil
}
