// Package step is a list of named steps run in order. It does not retry, run
// anything in parallel or know what an error means; that is for its callers.
package step

import (
	"context"
	"errors"
	"time"
)

// Done ends a list early, with success: there is nothing left to do. A step
// may wrap it.
var Done = errors.New("nothing left to do") //nolint:staticcheck // no failure, like fs.SkipDir

// Step is one thing to do, under a name that reads well in a log.
type Step struct {
	name string
	do   func(context.Context) error
}

// Of returns the step that calls do.
func Of(name string, do func(context.Context) error) Step { return Step{name, do} }

// OnFailure returns the steps with failed called when one of them fails: with its
// error, to return that or a fuller one. [Done] and the end of the context are no
// failures.
func OnFailure(failed func(context.Context, error) error, steps ...Step) []Step {
	out := make([]Step, len(steps))
	for i, s := range steps {
		out[i] = Of(s.name, func(ctx context.Context) error {
			err := s.do(ctx)
			if err == nil || errors.Is(err, Done) || ctx.Err() != nil {
				return err
			}
			return failed(ctx, err)
		})
	}
	return out
}

// Error is what stopped a list, with the name of the step for logs. The text
// is that of the cause alone: users know no steps.
type Error struct {
	Step string
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Runner runs lists of steps and shows them to an observer. The zero value
// works and shows them to nobody.
type Runner struct {
	// Observe, if set, is called after each step that ran, with how long it
	// took and what it returned.
	Observe func(name string, took time.Duration, err error)
}

// Run calls the steps one after the other until one fails, one returns
// [Done], or the context ends. The error is an [*Error], or nil.
func Run(ctx context.Context, steps ...Step) error { return Runner{}.Run(ctx, steps...) }

// Run is [Run] with the observer of r.
func (r Runner) Run(ctx context.Context, steps ...Step) error {
	for _, s := range steps {
		if ctx.Err() != nil {
			return &Error{s.name, context.Cause(ctx)}
		}
		start := time.Now()
		err := s.do(ctx)
		if r.Observe != nil {
			r.Observe(s.name, time.Since(start), err)
		}
		if errors.Is(err, Done) {
			return nil
		}
		if err != nil {
			return &Error{s.name, err}
		}
	}
	return nil
}
