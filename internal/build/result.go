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
	// Namespace and Name are those of the artifact. A failure of a namespace,
	// and so of all that goes there, has no name; one that may concern anything,
	// such as that of a directory, has neither.
	Namespace, Name string
	// Err has a reason and a class.
	Err *fail.Error
}

// Result is what a build made, and what it could not.
type Result struct {
	Artifacts  []Artifact
	Namespaces []Namespace
	Failures   []Failure
}

func (r *Result) fail(f Failure, err error) {
	var ok bool
	if f.Err, ok = fail.As(err); !ok {
		f.Err = &fail.Error{Reason: v1beta1.ReasonBuildFailed, Err: err}
	}
	r.Failures = append(r.Failures, f)
}

// ofArtifact begins a failure of an artifact.
func ofArtifact(namespace, name string) Failure {
	return Failure{Subject: namespace + "/" + name, Namespace: namespace, Name: name}
}

// OfNamespace returns a failure of a namespace.
func OfNamespace(name string, err *fail.Error) Failure {
	return Failure{Subject: fmt.Sprintf("namespace %q", name), Namespace: name, Err: err}
}

// named is how many failures a message tells of; the rest is counted.
const named = 3

// Err returns all failures as one error, nil when there are none; see [Sum].
func (r *Result) Err() error { return Sum(r.Failures, fmt.Sprintf("%d built", len(r.Artifacts))) }

// Sum returns all failures as one error, nil when there are none. What became
// of the rest is told along. The error stalls
// only when every failure does, for else a retry may help; its reason is that
// of the first failure of its class, and it is tried again as soon as any of
// them may be. What several failures have in common is said once.
func Sum(failures []Failure, rest string) error {
	if len(failures) == 0 {
		return nil
	}
	first := failures[0].Err
	var texts []string
	after := first.After
	for _, f := range failures {
		if first.Class == fail.Stall && f.Err.Class != fail.Stall {
			first = f.Err
		}
		if f.Err.After > 0 && (after == 0 || f.Err.After < after) {
			after = f.Err.After
		}
	}
	for list := failures[:min(named, len(failures))]; len(list) > 0; {
		text := list[0].Err.Error()
		var subjects []string
		for ; len(list) > 0 && list[0].Err.Error() == text; list = list[1:] {
			subjects = append(subjects, list[0].Subject)
		}
		texts = append(texts, strings.Join(subjects, ", ")+": "+text)
	}
	if more := len(failures) - named; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	class := first.Class
	if class == fail.Retry && after > 0 {
		class = fail.Wait // to back off would put that off
	}
	return &fail.Error{Reason: first.Reason, Class: class, After: after, Err: fmt.Errorf(
		"%d failed, %s: %s", len(failures), rest, strings.Join(texts, "; "))}
}
