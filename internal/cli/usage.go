package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-dev/weir/internal/cli/process"
)

// noArgs refuses arguments, and finds the flag that they were meant for.
func noArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case c.Flags().Lookup("filename") == nil:
		return process.Usagef("%q is an argument too many", args[0])
	case c.Flags().Changed("filename"):
		return process.Usagef("%q is an argument too many; give each file an -f of its own, or quote the pattern: -f '*.yaml'", args[0])
	default:
		return process.Usagef("%q is an argument too many; did you mean -f %s?", args[0], args[0])
	}
}

// unknownCommand refuses the command name below c.
func unknownCommand(c *cobra.Command, name string) error {
	if near := c.SuggestionsFor(name); len(near) > 0 {
		return process.Usagef("unknown command %q for %q; did you mean %q?", name, c.CommandPath(), near[0])
	}
	return process.Usagef("unknown command %q for %q", name, c.CommandPath())
}

// flagErrors returns what turns an error of the flag library into one of
// usage, with the nearest flag where one was misspelt. The flags of a command
// that does not exist are not to blame: the command is.
func flagErrors(args []string) func(*cobra.Command, error) error {
	return func(c *cobra.Command, err error) error {
		if !c.HasParent() && !strings.HasPrefix(args[1], "-") {
			return unknownCommand(c, args[1])
		}
		unknown, ok := errors.AsType[*pflag.NotExistError](err)
		if !ok {
			return process.Usage(err)
		}
		name := unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); len(letters) > 1 {
			name = letters // of a word behind a single dash
		}
		if near := nearestFlag(c, name); near != "" {
			return process.Usagef("%w; did you mean --%s?", err, near)
		}
		return process.Usage(err)
	}
}

// nearestFlag returns the flag of c that name is most likely a slip of, or the
// start of, or "".
func nearestFlag(c *cobra.Command, name string) string {
	const telling = 3 // letters of a start
	best, distance := "", len(name)/3+2
	c.Flags().VisitAll(func(f *pflag.Flag) {
		d := edits(name, f.Name)
		if len(name) >= telling && strings.HasPrefix(f.Name, name) {
			d = 1
		}
		if d < distance && !f.Hidden {
			best, distance = f.Name, d
		}
	})
	return best
}

// edits is the Levenshtein distance of a and b in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
