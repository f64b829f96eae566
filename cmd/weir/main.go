// Command weir shows on a laptop or in a pull request what a cluster would
// get. It also answers as the plugins kubectl-weir and flux-weir.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/weir-dev/weir/internal/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	code := cli.Run(ctx, os.Args, cli.Env{
		Version: version, Getenv: os.Getenv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
	})
	stop()
	os.Exit(code)
}
