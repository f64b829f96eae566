package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// parse reads the flags. Help goes to stdout, and nothing is printed of errors.
func parse(fs *flag.FlagSet, args []string, stdout io.Writer) error {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		help(fs, stdout)
		return err
	case err != nil:
		return explained(err)
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; flags are written --name=value", fs.Arg(0))
	}
	return nil
}

// explained returns the error of the flag package in the words of --help.
func explained(err error) error {
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		return fmt.Errorf("unknown flag --%s; --help lists those that there are", name)
	}
	return errors.New(strings.Replace(err.Error(), " flag -", " flag --", 1))
}

func help(fs *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, "weir-controller reconciles ArtifactGenerators, serves the artifacts that they make, and keeps the objects of TenantResources and GlobalTenantResources.\n\nFlags:\n")
	fs.VisitAll(func(f *flag.Flag) {
		kind, usage := flag.UnquoteUsage(f)
		if kind == "" {
			kind = "bool"
		}
		if f.DefValue != "" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(w, "  --%s %s\n      %s\n", f.Name, kind, usage)
	})
}
