// Package app wires the controllers into one program: flags, the manager with
// its cache, the store and the server of artifacts. It decides nothing about
// objects.
package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

// Main runs the controller until ctx ends and returns the exit status of the
// program: 0, 1 after a failure, or 2 when the flags are wrong.
func Main(ctx context.Context, args []string, getenv func(string) string, version string, stderr io.Writer) int {
	var c Config
	fs := flag.NewFlagSet("weir-controller", flag.ContinueOnError)
	fs.SetOutput(stderr)
	c.Flags(fs, getenv)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case fs.NArg() > 0:
		fmt.Fprintf(stderr, "unexpected argument %q\n", fs.Arg(0))
		return 2
	}
	log, err := c.Log.logger(stderr)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	log.Info("starting", "version", version)
	if err := run(ctx, &c, log); err != nil {
		log.Error(err, "ended")
		return 1
	}
	return 0
}
