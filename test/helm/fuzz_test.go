package helm

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/weir-dev/weir/internal/values"
)

// Whatever two files Helm can read, it reads Weir's merge of them as its own
// merge of both. Weir may refuse what Helm takes, with an error.
func FuzzMerge(f *testing.F) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range cases {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		a := txtar.Parse(data)
		f.Add(a.Files[0].Data, a.Files[1].Data)
	}
	f.Fuzz(func(t *testing.T, base, over []byte) {
		first, err := loader.LoadValues(bytes.NewReader(base))
		if err != nil {
			return
		}
		second, err := loader.LoadValues(bytes.NewReader(over))
		if err != nil {
			return
		}
		text, err := values.Merge(base, over)
		if err != nil {
			return
		}
		got, err := loader.LoadValues(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("helm does not read what was merged: %v\n%s", err, text)
		}
		if diff := cmp.Diff(loader.MergeMaps(first, second), got); diff != "" {
			t.Errorf("(-helm +weir):\n%s\nmerged:\n%s", diff, text)
		}
	})
}
