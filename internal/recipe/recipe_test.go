package recipe_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/internal/tree"
	"github.com/weir-dev/weir/internal/tree/treetest"
)

// TestCases runs testdata/*.txtar. The files in/ALIAS/PATH are the sources of
// all cases of an archive, and spec.yaml is the spec that all start from. The
// file NAME.case holds what a case changes in it, as a merge of top-level
// fields, and NAME.want the artifacts and what is withheld.
func TestCases(t *testing.T) {
	treetest.Golden(t, func(t *testing.T, a *txtar.Archive) {
		sources := treetest.Sources(t, a)
		base := text(a, "spec.yaml")
		for _, f := range slices.Clone(a.Files) {
			name, ok := strings.CutSuffix(f.Name, ".case")
			if !ok {
				continue
			}
			t.Run(name, func(t *testing.T) {
				got := result(t, sources, base, string(f.Data))
				if treetest.Update() {
					setText(a, name+".case", name+".want", got)
					return
				}
				if diff := cmp.Diff(text(a, name+".want"), got); diff != "" {
					t.Errorf("%s(-want +got):\n%s", f.Data, diff)
				}
			})
		}
	})
}

func result(t *testing.T, sources map[string]tree.Tree, base, change string) string {
	t.Helper()
	g := v1beta1.ArtifactGenerator{}
	g.Name, g.Namespace = "gen", "apps"
	for _, layer := range []string{base, change} {
		if err := yaml.UnmarshalStrict([]byte(layer), &g.Spec); err != nil {
			t.Fatal(err)
		}
	}
	o := recipe.Options{NoCrossNamespaceRefs: strings.Contains(change, "# no-cross-namespace-refs")}
	r, err := recipe.Compile(&g, o)
	if err != nil {
		e, ok := fail.As(err)
		if !ok || e.Class != fail.Stall {
			t.Errorf("not an error that stalls: %v", err)
		}
		return fmt.Sprintf("! %s: %v\n", e.Reason, err)
	}
	var b strings.Builder
	artifacts, withheld := r.Artifacts(sources)
	for _, a := range artifacts {
		fmt.Fprintf(&b, "%s/%s", a.Namespace, a.Name)
		if a.Dir != "" {
			fmt.Fprintf(&b, " of %q", a.Dir)
		}
		for _, k := range slices.Sorted(maps.Keys(a.Captures)) {
			fmt.Fprintf(&b, " %s=%s", k, a.Captures[k])
		}
		for _, ref := range []*recipe.Ref{a.Inputs, a.Metadata} {
			if ref != nil {
				fmt.Fprintf(&b, " @%s/%s", ref.Alias, ref.Path)
			}
		}
		fmt.Fprintln(&b)
	}
	for _, w := range withheld {
		fmt.Fprintf(&b, "! %s: %v\n", w.Subject, w.Err)
	}
	return b.String()
}

func text(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// setText puts data into the file name, which stands after the file before.
func setText(a *txtar.Archive, before, name, data string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(data)
			return
		}
	}
	for i := range a.Files {
		if a.Files[i].Name == before {
			a.Files = slices.Insert(a.Files, i+1, txtar.File{Name: name, Data: []byte(data)})
			return
		}
	}
}
