package offline

import (
	"fmt"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/cli/process"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/view"
)

// separate takes out what an earlier generator makes too: in a cluster the two
// would fight over the object.
func (j *job) separate(generator string, result *build.Result) {
	artifacts := result.Artifacts[:0]
	for _, a := range result.Artifacts {
		key := a.Namespace + "/" + a.Name
		if j.taken(generator, key, key, result) {
			continue
		}
		artifacts = append(artifacts, a)
	}
	result.Artifacts = artifacts
	namespaces := result.Namespaces[:0]
	for _, n := range result.Namespaces {
		if j.taken(generator, n.Name, fmt.Sprintf("namespace %q", n.Name), result) {
			continue
		}
		namespaces = append(namespaces, n)
	}
	result.Namespaces = namespaces
}

// taken reports whether the key has a maker, and gives it one if not.
func (j *job) taken(generator, key, subject string, result *build.Result) bool {
	maker, ok := j.makers[key]
	if !ok {
		j.makers[key] = generator
		return false
	}
	result.Failures = append(result.Failures, build.Failure{Subject: subject, Err: fail.Stalled(
		v1beta1.ReasonOwnershipConflict, "the generator %s manages it already; only one can", maker)})
	return true
}

// conclude takes a result into the report.
func (j *job) conclude(generator string, result *build.Result) {
	for _, n := range result.Namespaces {
		j.report.Namespaces = append(j.report.Namespaces, view.Namespace{
			Name: n.Name, Labels: n.Metadata.Labels, Annotations: n.Metadata.Annotations})
	}
	if err := result.Err(); err != nil {
		var parts []error
		for _, f := range result.Failures {
			part := *f.Err
			part.Err = fmt.Errorf("%s: %w", f.Subject, f.Err.Err)
			parts = append(parts, &part)
		}
		j.failed(generator, err, parts...)
	} else if len(result.Artifacts) == 0 && !j.flags.quiet {
		j.progress.Done()
		fmt.Fprintf(j.env.Err, "%s makes no artifacts: no directory matches its spec.pathPattern\n", generator)
	}
}

// failed records what went wrong with a generator, whose name may be unknown.
// The parts of err are what people are told, as many as they want to hear.
func (j *job) failed(generator string, err error, parts ...error) {
	if len(parts) == 0 {
		parts = []error{err}
	}
	j.errs = append(j.errs, j.named(generator, err))
	most := len(parts)
	if j.flags.maxErrors > 0 {
		most = min(most, j.flags.maxErrors)
	}
	for _, part := range parts[:most] {
		j.told = append(j.told, withReason(j.named(generator, part)))
	}
	if rest := len(parts) - most; rest > 0 {
		more := fmt.Errorf("and %d more; --max-errors 0 tells all", rest)
		if j.several {
			more = fmt.Errorf("%s: %w", generator, more)
		}
		j.told = append(j.told, more)
	}
}

func withReason(err error) error {
	return fmt.Errorf("%s: %w", view.ErrorOf(v1beta1.ReasonReconciliationFailed, err).Reason, err)
}

// named puts the generator's name in front of an error where there are several.
func (j *job) named(generator string, err error) error {
	e, ok := fail.As(err)
	if !ok || !j.several || generator == "" {
		return err
	}
	named := *e
	named.Err = fmt.Errorf("%s: %w", generator, e.Err)
	return &named
}

// print prints the report, and the errors for people.
func (j *job) print() error {
	j.report.Error = view.ErrorOf(v1beta1.ReasonReconciliationFailed, j.errs...)
	format := view.Format(j.flags.output)
	if format != view.Table || !j.flags.quiet {
		if err := j.report.Print(j.env.Out, format); err != nil {
			return fmt.Errorf("printing the result: %w", err)
		}
	}
	for _, err := range j.told {
		j.env.Fail(err)
	}
	if j.report.Error != nil {
		return process.ErrReported
	}
	return nil
}
