// Package offline has the commands that need no cluster: weir build. They read
// files, call the engine and print what comes back.
package offline

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-dev/weir/internal/cli/manifest"
	"github.com/weir-dev/weir/internal/cli/process"
)

// Build returns the command weir build.
func Build(env process.Env) *cobra.Command {
	var f buildFlags
	c := &cobra.Command{
		Use:   "build -f FILE|DIR|- --source ALIAS=PATH...",
		Short: "Build the artifacts of ArtifactGenerators from local sources",
		Long: `Build makes the artifacts that the controller would make of the same sources,
byte for byte, and prints them. It needs no cluster and no network.

It exits with 0 when all was built, with 1 when something could not be (the
rest was), and with 2 when the command line is wrong.`,
		Example: `  # what a generator makes of a checkout
  weir build -f generator.yaml --source repo=./monorepo

  # of a commit, without checking it out, into a directory
  weir build -f generator.yaml --source repo=git:.@main --output-dir out --unpacked

  # all generators of a directory, sources bound by reference, for a program
  weir build -f generators/ --source GitRepository/apps/monorepo=./monorepo.tar.gz --output json

  # what the generators of a cluster would make of this branch
  kubectl get artifactgenerators -A -o yaml | weir build -f - --source repo=git:.@HEAD`,
		SuggestFor: []string{"render", "compose", "make", "template"},
		RunE:       func(c *cobra.Command, _ []string) error { return runBuild(c.Context(), env, f) },
	}
	f.register(c)
	return c
}

func runBuild(ctx context.Context, env process.Env, f buildFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	bound, err := parseBindings(f.sources, env.Getenv("HOME"))
	if err != nil {
		return process.Usage(err)
	}
	generators, err := manifest.Load(ctx, f.files, env.In)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return process.Usage(fmt.Errorf("--filename: %w", err))
	}
	job := newJob(ctx, env, &f)
	defer job.close()
	job.compile(generators)
	if err := job.bind(bound); err != nil {
		return process.Usage(err)
	}
	if err := job.run(); err != nil {
		return err
	}
	return job.print()
}
