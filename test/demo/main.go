// Command demo shows Weir at work on this machine, with real Flux on both
// sides: see package demo. `make demo` builds what it needs and runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/weir-dev/weir/internal/cli/terminal"
	"github.com/weir-dev/weir/internal/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout *os.File, stderr io.Writer) error {
	var o demo.Options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Root, "root", ".", "the directory of the repository")
	flags.StringVar(&o.Controller, "controller", "", "the program of weir-controller (default bin/weir-controller of the repository)")
	flags.BoolVar(&o.Once, "once", false, "show what there is when everything is ready, and end")
	flags.DurationVar(&o.Within, "within", 5*time.Minute, "how long to wait until everything runs, and, with --once, is ready")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("demo takes no arguments, got %q", flags.Args())
	}
	if o.Controller == "" {
		o.Controller = filepath.Join(o.Root, "bin", "weir-controller")
	}
	controller, err := filepath.Abs(o.Controller) // it starts in a directory of its own
	if err == nil {
		_, err = os.Stat(controller)
	}
	if err != nil {
		return fmt.Errorf("weir-controller is not built (run `make demo`): %w", err)
	}
	o.Controller = controller
	var size func() (int, int)
	if terminal.Is(stdout) && !o.Once {
		size = func() (columns, rows int) {
			columns, rows, err := term.GetSize(int(stdout.Fd()))
			if err != nil {
				return 80, 24
			}
			return columns, rows
		}
	}
	o.Out = demo.NewScreen(stdout, demo.Pen{Colours: terminal.Colours(stdout, getenv)}, size)
	return demo.Run(ctx, o)
}
