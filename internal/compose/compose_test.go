package compose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/compose"
	"github.com/weir-dev/weir/internal/tree"
	"github.com/weir-dev/weir/internal/tree/treetest"
)

// TestCases runs testdata/*.txtar. The files in/ALIAS/PATH of an archive are
// the sources of all its cases. A case is a line "NAME: OP; OP…" in the file
// "cases", an OP being a from, a to and words such as exclude=GLOB, Merge,
// Extract, optional, and root-globs; the indented lines below it are what the
// artifact holds, or the error after a "!".
func TestCases(t *testing.T) {
	treetest.Golden(t, func(t *testing.T, a *txtar.Archive) {
		sources := treetest.Sources(t, a)
		for i := range a.Files {
			if a.Files[i].Name == "cases" {
				runCases(t, sources, &a.Files[i])
			}
		}
	})
}

func runCases(t *testing.T, sources map[string]tree.Tree, f *txtar.File) {
	var out strings.Builder
	for _, c := range splitCases(string(f.Data)) {
		name, ops, _ := strings.Cut(c.head, ": ")
		t.Run(name, func(t *testing.T) {
			got := result(t, sources, ops)
			fmt.Fprintln(&out, c.head)
			for _, line := range got {
				fmt.Fprintln(&out, "\t"+line)
			}
			if diff := cmp.Diff(c.want, got); diff != "" && !treetest.Update() {
				t.Errorf("%s (-want +got):\n%s", ops, diff)
			}
		})
	}
	if treetest.Update() {
		f.Data = []byte(out.String())
	}
}

type testCase struct {
	head string
	want []string
}

func splitCases(text string) []testCase {
	var out []testCase
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if want, indented := strings.CutPrefix(line, "\t"); indented {
			last := &out[len(out)-1]
			last.want = append(last.want, want)
		} else if line != "" {
			out = append(out, testCase{head: line})
		}
	}
	return out
}

func result(t *testing.T, sources map[string]tree.Tree, text string) []string {
	var ops []compose.Op
	var o compose.Options
	for _, one := range strings.Split(text, "; ") {
		words := strings.Split(one, " ")
		c := v1beta1.Copy{From: words[0], To: words[1]}
		for _, w := range words[2:] {
			exclude, isExclude := strings.CutPrefix(w, "exclude=")
			switch {
			case isExclude:
				c.Exclude = append(c.Exclude, exclude)
			case w == "optional":
				c.Optional = true
			case w == "root-globs":
				o.RootGlobs = true
			default:
				c.Strategy = v1beta1.CopyStrategy(w)
			}
		}
		op, err := compose.Parse(c)
		if err != nil {
			return []string{"! spec: " + err.Error()}
		}
		ops = append(ops, op)
	}
	got, err := compose.Compose(t.Context(), ops, sources, o)
	if err != nil {
		return []string{"! " + err.Error()}
	}
	return treetest.List(t, got)
}
