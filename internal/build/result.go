package build

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
)

// Failure is something of a recipe that could not be built.
type Failure struct {
	// Subject names it: namespace/name of an artifact, or what else it is.
	Subject string
	// Err has a reason and a class.
	Err *fail.Error
}

// Result is what a build made, and what it could not.
type Result struct {
	Artifacts  []Artifact
	Namespaces []Namespace
	Failures   []Failure
}

func (r *Result) fail(subject string, err error) {
	e, ok := fail.As(err)
	if !ok {
		e = &fail.Error{Reason: v1beta1.ReasonBuildFailed, Err: err}
	}
	r.Failures = append(r.Failures, Failure{Subject: subject, Err: e})
}

// named is how many failures a message tells of; the rest is counted.
const named = 3

// Err returns all failures as one error, nil when there are none. It stalls
// only when every failure does, for else a retry may help; its reason is that
// of the first failure of its class.
func (r *Result) Err() error {
	if len(r.Failures) == 0 {
		return nil
	}
	first := r.Failures[0].Err
	var texts []string
	for i, f := range r.Failures {
		if first.Class == fail.Stall && f.Err.Class != fail.Stall {
			first = f.Err
		}
		if i < named {
			texts = append(texts, f.Subject+": "+f.Err.Error())
		}
	}
	if more := len(r.Failures) - named; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return &fail.Error{Reason: first.Reason, Class: first.Class, After: first.After, Err: fmt.Errorf(
		"%d failed, %d built: %s", len(r.Failures), len(r.Artifacts), strings.Join(texts, "; "))}
}
