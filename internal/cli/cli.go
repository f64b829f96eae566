// Package cli is the weir command line: it parses, calls one function of the
// engine and prints what comes back. Everything it needs of the process comes
// in as a value.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weir-dev/weir/internal/cli/terminal"
)

// The exit codes of Run.
const (
	exitOK     = 0
	exitFailed = 1 // what was asked for could not be done, or not all of it
	exitUsage  = 2 // the command line is wrong
)

// Env is what the process gives a command.
type Env struct {
	Version  string
	Getenv   func(string) string
	In       io.Reader
	Out, Err io.Writer
}

// Run runs the command line args, whose first element is the program's name,
// and returns the exit code: 0, 1 when what was asked for failed, 2 when the
// command line is wrong. Errors were printed.
func Run(ctx context.Context, args []string, env Env) int {
	root := newRoot(env, args)
	command, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitFailed
	case isUsage(err):
		env.fail(err)
		if command.Name() == "help" {
			command = root
		}
		fmt.Fprintf(env.Err, "Run '%s --help' for usage.\n", command.CommandPath())
		return exitUsage
	case ctx.Err() != nil:
		env.fail(errors.New("interrupted"))
		return exitFailed
	default:
		env.fail(err)
		return exitFailed
	}
}

// errReported is returned by a command that has told all there is to tell.
var errReported = errors.New("reported")

// fail prints an error for people.
func (e Env) fail(err error) {
	label := "Error:"
	if terminal.Colours(e.Err, e.Getenv) {
		label = terminal.Red(label)
	}
	fmt.Fprintf(e.Err, "%s %v\n", label, err)
}
