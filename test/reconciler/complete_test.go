package reconciler_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// requirements is the number of the last one.
const requirements = 104

// TestEveryRequirement: each requirement is in the name of a test or a script,
// or docs/reconciler.md says why it does not apply.
func TestEveryRequirement(t *testing.T) {
	number := regexp.MustCompile(`R(\d+)(?:_|\b)`)
	function := regexp.MustCompile(`(?m)^func Test(R\w+)\(`)
	named := map[int]bool{}
	note := func(text string) {
		for _, m := range number.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil || n < 1 || n > requirements {
				t.Errorf("%q names a requirement that does not exist", text)
			}
			named[n] = true
		}
	}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir():
			return err
		case strings.HasSuffix(path, ".txtar"):
			note(strings.TrimSuffix(filepath.Base(path), ".txtar"))
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range function.FindAllStringSubmatch(string(text), -1) {
				note(m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := os.ReadFile("../../docs/reconciler.md"); err == nil {
		_, rest, _ := strings.Cut(string(doc), "\n## Not applicable\n")
		rest, _, _ = strings.Cut(rest, "\n## ")
		note(rest)
	}
	for n := 1; n <= requirements; n++ {
		if !named[n] {
			t.Errorf("R%d has no test", n)
		}
	}
}
