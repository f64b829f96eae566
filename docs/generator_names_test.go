package docs_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// section returns the part of a page below a heading, up to the next of its
// rank.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, page), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	rank, _, _ := strings.Cut(heading, " ")
	text, _, _ = strings.Cut(text, "\n"+rank+" ")
	return text
}

// values returns the values of the string constants of a file whose names have
// the prefix.
func values(t *testing.T, file, prefix string) []string {
	t.Helper()
	var out []string
	for _, spec := range specs(t, file, token.CONST) {
		s, ok := spec.(*ast.ValueSpec)
		if !ok || len(s.Values) == 0 || !strings.HasPrefix(s.Names[0].Name, prefix) {
			continue
		}
		if lit, ok := s.Values[0].(*ast.BasicLit); ok {
			out = append(out, strings.Trim(lit.Value, `"`))
		}
	}
	return out
}

// TestReasons: every reason that a condition or an event can have is on the
// page, and no other.
func TestReasons(t *testing.T) {
	reasons := values(t, "../api/source/v1beta1/reasons.go", "Reason")
	for _, root := range []string{"../internal/controller", "../internal/keep"} {
		err := filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
				reasons = append(reasons, values(t, file, "reason")...)
				reasons = append(reasons, values(t, file, "Reason")...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	checkReasons(t, generators, reasons)
}

// TestReplicationReasons: so it is for replications.
func TestReplicationReasons(t *testing.T) {
	checkReasons(t, replications, values(t, "../api/capsule/v1beta2/reasons.go", "Reason"))
}

func checkReasons(t *testing.T, page string, reasons []string) {
	t.Helper()
	text := section(t, page, "### Conditions") + section(t, page, "## Events")
	for _, r := range reasons {
		if !strings.Contains(text, "`"+r+"`") {
			t.Errorf("%s is not on %s", r, page)
		}
	}
	first := regexp.MustCompile("(?m)^\\| (?:(?:Ready|Cordoned)[^|]*\\| )?((?:`\\w+`(?:, )?)+) \\|")
	for _, row := range first.FindAllStringSubmatch(text, -1) {
		for r := range strings.SplitSeq(row[1], ", ") {
			if !slices.Contains(reasons, strings.Trim(r, "`")) {
				t.Errorf("%s is on %s, and nothing has it", r, page)
			}
		}
	}
}

// TestGeneratorAnnotations: every annotation and label is in the table, and no
// other.
func TestGeneratorAnnotations(t *testing.T) {
	checkNames(t, section(t, generators, "## Annotations and labels"), "../api/source/v1beta1/names.go")
}

// TestReplicationAnnotations: so it is for replications.
func TestReplicationAnnotations(t *testing.T) {
	checkNames(t, section(t, replications, "## Labels, annotations and finalizers"), "../api/capsule/v1beta2/names.go")
}

func checkNames(t *testing.T, text, file string) {
	t.Helper()
	known := map[string]bool{}
	for _, prefix := range []string{"Annotation", "Label", "Finalizer"} {
		for _, name := range values(t, file, prefix) {
			known[name] = true
			if !strings.Contains(text, "`"+name) {
				t.Errorf("%s is not on the page", name)
			}
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text, -1) {
		if !known[m[1]] {
			t.Errorf("%s is in the table, and no annotation", m[1])
		}
	}
}
