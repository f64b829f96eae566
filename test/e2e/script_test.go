package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// scripts returns the files of the scripts to play, those of testdata first.
func scripts(t *testing.T) []string {
	t.Helper()
	files := txtars(t, "testdata")
	dir := os.Getenv("WEIR_E2E_SCRIPTS")
	if dir == "" {
		return files
	}
	data, err := os.ReadFile("acceptance.txt")
	if err != nil {
		t.Fatal(err)
	}
	others := txtars(t, dir)
	chosen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		prefix, _, _ := strings.Cut(line, "#")
		if prefix = strings.TrimSpace(prefix); prefix == "" {
			continue
		}
		n := len(chosen)
		for _, f := range others {
			if strings.HasPrefix(filepath.Base(f), prefix) {
				chosen[f] = true
			}
		}
		if n == len(chosen) {
			t.Errorf("acceptance.txt: prefix %q selects no more scripts of %q", prefix, dir)
		}
	}
	for _, f := range others {
		if chosen[f] {
			files = append(files, f)
		}
	}
	return files
}

func txtars(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %q: %v", dir, err)
	}
	return files
}

// prefixOf returns what the names in a script start with.
func prefixOf(name string) string {
	prefix, _, _ := strings.Cut(filepath.Base(name), "-")
	return prefix
}

// alone reports whether a script must be played alone: it restarts a
// controller or the API server, or counts all that is asked of anyone.
func alone(t *testing.T, file string) bool {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(archive.Comment)) {
		words := strings.Fields(strings.TrimLeft(line, "! \t"))
		switch {
		case len(words) == 0:
		case slices.Contains([]string{"controller", "flux", "server"}, words[0]):
			return true
		case (words[0] == "writes" || words[0] == "fetches") && slices.Contains(words, "-max") && !slices.Contains(words, "-ns"):
			return true
		}
	}
	return false
}
