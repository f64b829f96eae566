// Package fail is the error that a user of Weir sees: a reason that programs
// can match and a class that decides what happens next. It formats no
// conditions and schedules nothing; its callers translate the class.
package fail

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Class says what a reconcile does after an error.
type Class int

const (
	// Retry backs off and tries again. It is the class of every error that
	// is not an [*Error].
	Retry Class = iota
	// Wait tries again after [Error.After], or at the object's interval when
	// that is zero.
	Wait
	// Stall does not try again until the spec changes, or [Error.After] when that
	// is not zero: for what others may put right without telling.
	Stall
	// Later tries again after [Error.After] as if nothing had been tried: it is
	// no failure, and nobody is told.
	Later
)

// Error is an error with a reason.
type Error struct {
	// Reason is a CamelCase constant declared beside the API type.
	Reason string
	// Class decides what happens next; the zero value is [Retry].
	Class Class
	// After delays the next try of class [Wait], where zero means the interval,
	// of class [Stall], where it means never, and of class [Later].
	After time.Duration
	// Err holds the message and the cause.
	Err error
}

// Error returns the message without the reason, which conditions and reports
// carry in a field of its own.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retried returns an error of class [Retry]. The format is that of
// [fmt.Errorf].
func Retried(reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Stalled returns an error of class [Stall]. The format is that of
// [fmt.Errorf].
func Stalled(reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Class: Stall, Err: fmt.Errorf(format, args...)}
}

// As returns the first [*Error] in the chain of err, and false when there is
// none.
func As(err error) (*Error, bool) {
	return errors.AsType[*Error](err)
}

// Join returns one error on one line for several, nil for none, with the
// texts in order and "; " in between. Nil errors are left out.
func Join(errs ...error) error {
	var out joined
	for _, err := range errs {
		if err != nil {
			out = append(out, err)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	default:
		return out
	}
}

type joined []error

func (j joined) Error() string {
	texts := make([]string, len(j))
	for i, err := range j {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (j joined) Unwrap() []error { return j }
