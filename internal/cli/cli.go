// Package cli is the weir command line: it parses, calls one function of the
// engine and prints what comes back. Everything it needs of the process comes
// in as a value.
package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-dev/weir/internal/cli/process"
)

// The exit codes of Run.
const (
	exitOK     = 0
	exitFailed = 1 // what was asked for could not be done, or not all of it
	exitUsage  = 2 // the command line is wrong
)

// Env is what the process gives a command.
type Env = process.Env

// Run runs the command line args, whose first element is the program's name,
// and returns the exit code: 0, 1 when what was asked for failed, 2 when the
// command line is wrong; of a command that compares, 1 when there are differences
// and 2 when it failed. Errors were printed.
func Run(ctx context.Context, args []string, env Env) int {
	root := newRoot(env, args)
	command, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, process.ErrReported):
		return process.Code(err, exitFailed)
	case process.IsUsage(err):
		env.Fail(err)
		if command.Name() == "help" {
			command = root
		}
		fmt.Fprintf(env.Err, "Run '%s --help' for usage.\n", command.CommandPath())
		return exitUsage
	case ctx.Err() != nil:
		env.Fail(errors.New("interrupted"))
		return process.Code(err, exitFailed)
	default:
		env.Fail(err)
		return process.Code(err, exitFailed)
	}
}
