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

// name is what the program calls itself: to the API server, in events, and in
// the lease of the one that leads.
const name = "weir-controller"

// Program is weir-controller.
type Program struct {
	// Version is what it says in its log.
	Version string
}

// Run runs the controller until ctx ends and returns the exit status: 0, 1
// after a failure, or 2 when the flags are wrong. Logs and help go to stdout,
// what is wrong with the flags to stderr.
func (p Program) Run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var c Config
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	c.Flags(fs, getenv)
	err := parse(fs, args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var o *options
	if err == nil {
		o, err = c.options(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	o.log.Info("starting", "version", p.Version)
	for _, note := range o.notes {
		o.log.Info(note)
	}
	if err := run(ctx, o); err != nil {
		o.log.Error(err, "ended")
		return 1
	}
	return 0
}
