// Package docs_test holds the pages to the code: their tables are made of it,
// and their examples run.
package docs_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/testcluster"
)

var (
	update = flag.Bool("update", false, "rewrite the tables of the pages")
	shared testcluster.Shared
)

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// pages make the tables of the pages out of the code. Each stands below a mark
// <!-- table NAME --> and ends with an empty line.
var pages = map[string]map[string]func(*testing.T) table{
	page:         reconcilerTables,
	generators:   generatorTables,
	replications: replicationTables,
}

// table is a header and rows.
type table [][]string

func (t table) String() string {
	var b strings.Builder
	for i, row := range t {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
	return b.String()
}

// TestTables: what the pages say is what the code does.
func TestTables(t *testing.T) {
	for page, tables := range pages {
		t.Run(page, func(t *testing.T) { checkTables(t, page, tables) })
	}
}

func checkTables(t *testing.T, page string, tables map[string]func(*testing.T) table) {
	text := read(t, page)
	mark := regexp.MustCompile(`(?s)<!-- table (\w+) -->\n(.*?\n)\n`)
	seen := map[string]bool{}
	now := mark.ReplaceAllStringFunc(text, func(block string) string {
		m := mark.FindStringSubmatch(block)
		build, ok := tables[m[1]]
		if !ok {
			t.Errorf("there is no table %q", m[1])
			return block
		}
		seen[m[1]] = true
		want := build(t).String()
		if d := cmp.Diff(want, m[2]); d != "" && !*update {
			t.Errorf("table %s (go test ./docs -update rewrites it): %s", m[1], d)
		}
		return "<!-- table " + m[1] + " -->\n" + want + "\n"
	})
	for name := range maps.Keys(tables) {
		if !seen[name] {
			t.Errorf("table %s is not on the page", name)
		}
	}
	if *update && now != text {
		if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
