package cli

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-dev/weir/internal/cli/offline"
	"github.com/weir-dev/weir/internal/cli/online"
	"github.com/weir-dev/weir/internal/cli/process"
)

func newRoot(env Env, args []string) *cobra.Command {
	c := &cobra.Command{
		Use:           "weir",
		Short:         "Compose what goes into multi-tenant clusters",
		Long:          "Weir composes what goes into multi-tenant Kubernetes clusters, and shows it before it goes there.",
		Example:       "  weir build -f generator.yaml --source repo=./monorepo\n  weir get ag -A\n  weir reconcile ag my-app -n apps --wait",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(env),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: displayName(args[0])},
	}
	c.SetArgs(args[1:])
	c.SetIn(env.In)
	c.SetOut(env.Out)
	c.SetErr(env.Err)
	c.SetVersionTemplate("{{.Version}}\n")
	c.SetHelpTemplate(helpTemplate)
	c.SetHelpCommand(newHelp())
	c.SetFlagErrorFunc(flagErrors(args))
	c.AddCommand(offline.Build(env), newVersion(env))
	c.AddCommand(online.Commands(env)...)
	c.InitDefaultCompletionCmd()
	finish(c)
	return c
}

// finish settles what all commands have in common.
func finish(c *cobra.Command) {
	// A plugin is called by its host's name.
	c.Example = strings.ReplaceAll(c.Example, " weir ", " "+c.Root().DisplayName()+" ")
	if !c.HasSubCommands() {
		// Those of cobra say it in its own words.
		if cobras := c.Parent().Name() == "completion"; c.Args == nil && c.Name() != "help" || cobras {
			c.Args = noArgs
		}
		return
	}
	if c.RunE == nil {
		group(c)
	}
	for _, sub := range c.Commands() {
		finish(sub)
	}
}

// group makes c a command that does nothing without one of its own commands.
func group(c *cobra.Command) {
	c.SuggestionsMinimumDistance = 2
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknownCommand(c, args[0])
	}
}

// displayName is how a user calls the program: as itself, or as the plugin of
// another.
func displayName(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	for _, host := range []string{"kubectl", "flux"} {
		if name == host+"-weir" {
			return host + " weir"
		}
	}
	return "weir"
}

// helpTemplate puts the examples first: most readers copy one and leave.
const helpTemplate = `{{with or .Long .Short}}{{. | trimTrailingWhitespaces}}

{{end}}{{if .HasExample}}Examples:
{{.Example}}

{{end}}Usage:{{if or .ValidArgsFunction (not .HasAvailableSubCommands)}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]

Commands:{{range .Commands}}{{if or .IsAvailableCommand (eq .Name "help")}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}`

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "Show the help of a command",
		Example: "  weir help build",
		RunE: func(c *cobra.Command, args []string) error {
			of, rest, err := c.Root().Find(args)
			switch {
			case err != nil:
				return process.Usage(err)
			case len(rest) > 0:
				return unknownCommand(of, rest[0])
			}
			of.InitDefaultHelpFlag()
			of.InitDefaultVersionFlag()
			return of.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			if of, rest, err := c.Root().Find(args); err == nil && len(rest) == 0 {
				for _, sub := range of.Commands() {
					if sub.IsAvailableCommand() {
						out = append(out, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func newVersion(env Env) *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Example:           "  weir version",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.Out, version(env))
			return err
		},
	}
}

func version(env Env) string {
	return fmt.Sprintf("weir %s %s/%s %s", env.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
