package online

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/internal/cli/cluster"
	"github.com/weir-dev/weir/internal/cli/printer"
	"github.com/weir-dev/weir/internal/cli/process"
)

// get is one call of weir get.
type get struct {
	target

	output    string
	noHeaders bool
	ignore    bool
	watch     bool
}

func newGet(env process.Env) *cobra.Command {
	var g get
	c := &cobra.Command{
		Use:   "get KIND [NAME...]",
		Short: "Show objects of a cluster",
		Long: `Get shows objects of a cluster: how many artifacts a generator has and how many
of them failed, how many targets a replication has, which are ready or suspended,
and why not.

It exits with 0 when all that was named was found, with 1 when not or when the
cluster cannot be asked, and with 2 when the command line is wrong.`,
		Example: `  # the generators of the namespace, and of all
  weir get ag
  weir get ag -A

  # one with its sources and its whole message
  weir get ag my-app -n apps -o wide

  # the names of those with a label, for a script
  weir get ag -l team=shop -o name

  # replications with the numbers of targets that failed and that were skipped
  weir get gtr -o wide
  weir get tr -A -o wide

  # the targets of one that failed
  weir get items gtr/quota --state failed

  # what changes, until interrupted
  weir get ag -A --watch`,
		SuggestFor: []string{"list", "show", "ls", "describe"},
		RunE:       func(c *cobra.Command, args []string) error { return g.run(c.Context(), args) },
	}
	g.register(c, env)
	flags := c.Flags()
	flags.StringVarP(&g.output, "output", "o", "table", "print as `FORMAT`: table, wide, json, yaml, name or jsonpath=TEMPLATE")
	flags.BoolVar(&g.noHeaders, "no-headers", false, "print no header above a table")
	flags.BoolVar(&g.ignore, "ignore-not-found", false, "exit with 0 though an object is not there")
	flags.BoolVarP(&g.watch, "watch", "w", false, "go on to show what changes")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(printer.Formats(), cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(newItems(env))
	return c
}

func (g *get) run(ctx context.Context, args []string) error {
	if err := g.parse(args); err != nil {
		return err
	}
	if g.watch && len(g.names) > 1 {
		return process.Usagef("--watch: name one object, or none to watch all")
	}
	p, err := printer.New(g.kind, g.output, printer.Options{Namespaces: g.everywhere && !g.kind.ClusterScoped, NoHeaders: g.noHeaders, Now: time.Now})
	if err != nil {
		return process.Usagef("--output: %w", err)
	}
	objects, err := g.connect()
	if err != nil {
		return err
	}
	// What was not found has been told, and does not hide what was.
	all, missing := g.resolve(ctx, objects, g.ignore)
	if missing != nil && len(all) == 0 {
		return missing
	}
	if len(all) == 0 && len(g.names) == 0 && p.ShowsNothing() {
		g.nothing(objects)
	}
	if g.watch {
		return g.follow(ctx, objects, p, all)
	}
	if err := g.print(p, all); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return missing
}

func (g *get) print(p *printer.Printer, all []unstructured.Unstructured) error {
	switch len(g.names) {
	case 0:
		return p.All(g.env.Out, all)
	case 1:
		return p.Each(g.env.Out, all)
	}
	if len(all) == 0 {
		return nil
	}
	return p.All(g.env.Out, all)
}

// follow prints what is there, and each object that changes, until interrupted.
func (g *get) follow(ctx context.Context, objects cluster.Objects, p *printer.Printer, now []unstructured.Unstructured) error {
	selection := cluster.Selection{Labels: g.labels}
	if len(g.names) == 1 {
		selection.Name = g.names[0]
	}
	known := make([]*unstructured.Unstructured, len(now))
	for i := range now {
		known[i] = &now[i]
	}
	if err := p.Each(g.env.Out, now); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	var printErr error
	err := objects.Follow(ctx, selection, known, func(o *unstructured.Unstructured, _ bool) bool {
		printErr = p.Each(g.env.Out, []unstructured.Unstructured{*o})
		return printErr != nil
	})
	switch {
	case printErr != nil:
		return fmt.Errorf("printing the result: %w", printErr)
	case ctx.Err() != nil: // which is how one stops watching
		return nil
	}
	return err
}
