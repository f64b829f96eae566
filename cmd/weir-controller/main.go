// Command weir-controller reconciles ArtifactGenerators in a cluster and serves
// the artifacts that they make.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/weir-dev/weir/internal/app"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := app.Program{Version: version}.Run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
