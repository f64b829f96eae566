package treetest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite what the cases in testdata want")

// Update reports whether wanted results are to be rewritten, by the flag
// -update, instead of compared.
func Update() bool { return *update }

// Golden calls test for each of testdata/*.txtar. With -update, what test
// changed in the archive is written back.
func Golden(t *testing.T, test func(t *testing.T, a *txtar.Archive)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) { test(t, a) })
		if !*update {
			continue
		}
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
