// Package process is what a command has of the process that runs it: streams
// and environment in, errors and an exit code out. It parses nothing and
// prints nothing but errors.
package process

import (
	"errors"
	"fmt"
	"io"

	"github.com/weir-dev/weir/internal/cli/terminal"
)

// Env is what the process gives a command.
type Env struct {
	Version  string
	Getenv   func(string) string
	In       io.Reader
	Out, Err io.Writer
}

// Fail prints an error for people.
func (e Env) Fail(err error) {
	label := "Error:"
	if terminal.Colours(e.Err, e.Getenv) {
		label = terminal.Red(label)
	}
	fmt.Fprintf(e.Err, "%s %v\n", label, err)
}

// Note prints what people should know and programs need not.
func (e Env) Note(format string, args ...any) { fmt.Fprintf(e.Err, format+"\n", args...) }

// ErrReported is returned by a command that failed and has told all there is
// to tell.
var ErrReported = errors.New("reported")

// exitError is an error that ends the process with a code of its own.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

// Exit has the process end with the code because of err.
func Exit(code int, err error) error { return exitError{code, err} }

// Code returns the code that err asks for, or else the usual one.
func Code(err error, usual int) int {
	if e, ok := errors.AsType[exitError](err); ok {
		return e.code
	}
	return usual
}

// usageError is an error of the command line, not of what it asks for.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// Usage says that the command line is to blame for err.
func Usage(err error) error { return usageError{err} }

// Usagef returns an error of the command line.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// IsUsage reports whether the command line is to blame for err.
func IsUsage(err error) bool {
	_, ok := errors.AsType[usageError](err)
	return ok
}
