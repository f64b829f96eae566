package offline

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-dev/weir/internal/cli/manifest"
	"github.com/weir-dev/weir/internal/cli/process"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/internal/view"
)

// buildFlags are the flags of weir build.
type buildFlags struct {
	files          []string
	sources        []string
	noSourceIgnore bool
	outputDir      string
	unpacked       bool
	overwrite      bool
	output         string
	recipe         recipe.Options
	concurrency    int
	quiet          bool
	maxErrors      int
	gates          gates
}

func (f *buildFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, "`FILE`, directory or quoted pattern with ArtifactGenerators, or - for standard input; may be given several times")
	flags.StringArrayVar(&f.sources, "source", nil, "bind a source, as `ALIAS=PATH` or Kind/namespace/name=PATH; PATH is a directory, a .tar.gz or .tgz file, or git:DIR@REV")
	flags.BoolVar(&f.noSourceIgnore, "no-source-ignore", false, "take directories and commits as they are, without .sourceignore files and the default ignores")
	flags.StringVar(&f.outputDir, "output-dir", "", "write each artifact to `DIR`/<namespace>/<name>.tar.gz")
	flags.BoolVar(&f.unpacked, "unpacked", false, "write directories <namespace>/<name>/ instead of tarballs")
	flags.BoolVar(&f.overwrite, "overwrite", false, "with --unpacked, replace directories that are there and not empty")
	flags.StringVarP(&f.output, "output", "o", string(view.Table), "print the result as `FORMAT`: table, json or yaml")
	flags.BoolVar(&f.recipe.NoCrossNamespaceRefs, "no-cross-namespace-refs", false, "refuse sources of other namespaces, as the controller's flag does")
	flags.StringVar(&f.recipe.DefaultServiceAccount, "default-service-account", "", "the controller's default ServiceAccount, by `NAME`")
	flags.IntVar(&f.concurrency, "concurrency", 0, "build at most `N` artifacts at once; 0 means one a processor")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing but errors and what --output asks for as json or yaml")
	flags.IntVar(&f.maxErrors, "max-errors", 10, "tell of at most `N` failures of a generator; 0 means all")
	flags.Var(&f.gates, "feature-gates", "gates as `NAME=true`, comma-separated; SourceRootGlobs keeps what a pattern matches at its path from the source's root")
	f.complete(c)
}

// check says what is wrong with the flags themselves.
func (f *buildFlags) check() error {
	switch {
	case len(f.files) == 0:
		return process.Usagef("--filename: name the ArtifactGenerators to build, such as -f generator.yaml")
	case f.unpacked && f.outputDir == "":
		return process.Usagef("--unpacked writes directories: name where with --output-dir")
	case f.concurrency < 0:
		return process.Usagef("--concurrency: %d is less than 0", f.concurrency)
	case f.maxErrors < 0:
		return process.Usagef("--max-errors: %d is less than 0", f.maxErrors)
	}
	if f.concurrency == 0 {
		f.concurrency = runtime.GOMAXPROCS(0)
	}
	if info, err := os.Stat(f.outputDir); err == nil && !info.IsDir() {
		return process.Usagef("--output-dir: %q is not a directory", f.outputDir)
	}
	switch view.Format(f.output) {
	case view.Table, view.JSON, view.YAML:
		return nil
	default:
		return process.Usagef("--output: %q is none of table, json and yaml", f.output)
	}
}

// complete tells the shell what the flags of weir build may be set to. Errors
// would mean that a flag is not there, and the scripts of this package would
// miss it.
func (f *buildFlags) complete(c *cobra.Command) {
	c.ValidArgsFunction = cobra.NoFileCompletions
	_ = c.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = c.MarkFlagDirname("output-dir")
	for flag, words := range map[string][]cobra.Completion{
		"output":                  {string(view.Table), string(view.JSON), string(view.YAML)},
		"feature-gates":           {"SourceRootGlobs=true"},
		"concurrency":             nil,
		"max-errors":              nil,
		"default-service-account": nil,
	} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = c.RegisterFlagCompletionFunc("source", f.completeSource)
}

// completeSource offers the aliases of the generators that were named before.
// What comes behind the sign is a file.
func (f *buildFlags) completeSource(c *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	files := slices.DeleteFunc(slices.Clone(f.files), func(name string) bool { return name == "-" })
	if strings.Contains(word, "=") || len(files) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	// A shell shows no errors here, and the command will.
	generators, _ := manifest.Load(c.Context(), files, nil)
	aliases := map[cobra.Completion]bool{}
	for _, g := range generators {
		for _, s := range g.Object.Spec.Sources {
			aliases[s.Alias+"="] = true
		}
	}
	return slices.Sorted(maps.Keys(aliases)), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// gates are the feature gates of the engine, a [pflag.Value].
type gates struct{ sourceRootGlobs bool }

func (g *gates) String() string { return "" }
func (g *gates) Type() string   { return "gates" }

// Set parses NAME=BOOL pairs.
func (g *gates) Set(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q has not the form NAME=true or NAME=false", pair)
		}
		if name != "SourceRootGlobs" {
			return fmt.Errorf("no gate is called %q; there is SourceRootGlobs", name)
		}
		g.sourceRootGlobs = on
	}
	return nil
}
