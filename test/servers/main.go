// Command servers is where sources come from in tests: a git server on port
// 3000, an OCI registry on 5000 and an S3 store on 9000 of one address. Nobody
// has to log in, all may write, and what is pushed to a git repository that does
// not exist makes it. Only git repositories outlive the process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("servers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	host := flags.String("host", "127.0.0.1", "the address to listen on")
	repos := flags.String("git", "", "the directory of the git repositories")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *repos == "" || flags.NArg() > 0 {
		return errors.New("usage: servers --git DIR [--host ADDRESS]")
	}
	git, stop, err := gitServer(*repos)
	if err != nil {
		return err
	}
	defer stop()
	failed := make(chan error, 3)
	for port, handler := range map[string]http.Handler{"3000": git, "5000": registryServer(), "9000": bucketServer()} {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(*host, port))
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		defer func() { _ = server.Close() }() // nobody waits for an answer any more
		go func() { failed <- server.Serve(listener) }()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}
