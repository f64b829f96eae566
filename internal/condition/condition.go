// Package condition decides by a CEL expression whether the content of a target
// is applied. It sees the object as it is and the time, and nothing else.
package condition

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// MaxLength is how many characters an expression may have.
const MaxLength = 4096

// ErrEvaluation is the error of every expression that cannot be evaluated. It
// says no more, for what CEL says may hold data of the object.
var ErrEvaluation = errors.New("ConditionEvaluationFailed: expression could not be evaluated")

const (
	objectVariable = "object"
	nowVariable    = "now"
)

// env is Kubernetes' own CEL with the two variables, made once a process: it
// takes tens of milliseconds.
var env = sync.OnceValues(func() (*cel.Env, error) {
	base, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.StoredExpressions)
	if err != nil {
		return nil, err
	}
	return base.Extend(cel.Variable(objectVariable, cel.DynType), cel.Variable(nowVariable, cel.TimestampType))
})

// Condition is a compiled expression. Concurrent use is safe.
type Condition struct{ program cel.Program }

// Compile compiles an expression that must be a bool, and known to be one
// before it meets an object. What one evaluation may cost is limited as
// Kubernetes limits one call.
func Compile(text string) (*Condition, error) {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return nil, errors.New("must not be blank; leave the field out to apply unconditionally")
	case utf8.RuneCountInString(text) > MaxLength:
		return nil, fmt.Errorf("is longer than %d characters", MaxLength)
	}
	e, err := env()
	if err != nil {
		return nil, err
	}
	ast, issues := e.Compile(trimmed)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, fmt.Errorf("does not compile: %s (line %d, column %d)", first.Message, first.Location.Line(), first.Location.Column()+1)
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("is of type %s, want bool; compare the value with something", ast.OutputType())
	}
	program, err := e.Program(ast,
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(apiservercel.PerCallLimit),
		cel.InterruptCheckFrequency(apiservercel.CheckFrequency))
	if err != nil {
		return nil, fmt.Errorf("does not compile: %w", err)
	}
	return &Condition{program}, nil
}

// Open reports whether content may be applied to the object, which is nil if it
// is absent and is not changed. The error is [ErrEvaluation]. It implements the
// gate of the object reconciler.
func (c *Condition) Open(ctx context.Context, live *unstructured.Unstructured, now time.Time) (bool, string, error) {
	vars := map[string]any{objectVariable: types.NullValue, nowVariable: now.UTC()}
	if live != nil {
		vars[objectVariable] = live.Object
	}
	out, _, err := c.program.ContextEval(ctx, vars)
	if err != nil {
		return false, "", ErrEvaluation
	}
	open, ok := out.Value().(bool)
	if !ok {
		return false, "", ErrEvaluation
	}
	if !open {
		return false, v1beta2.MessageSkipped, nil
	}
	return true, "", nil
}
