package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guide is a page whose commands are played. Its names become those of a script.
const guide = root + "/docs/namespaces.md"

// page returns the guide as a script. A block of YAML whose first line is a
// comment is the file of that name, which "repository: " puts into the source.
// Of a console, lines with $ are commands, and all that follow one are in its
// output sooner or later; a comment as command changes the repository.
func page(t *testing.T) string {
	t.Helper()
	const name = "n60-guide.txtar"
	data, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\bplatform\b`).ReplaceAllString(string(data), "n60")
	text = regexp.MustCompile(`\bteam-`).ReplaceAllString(text, "n60-team-")
	const publish = "source GitRepository n60/monorepo repo\n"
	var script, files strings.Builder
	script.WriteString(publish)
	for _, m := range regexp.MustCompile("(?s)\n```(yaml|console)\n(.*?\n)```\n").FindAllStringSubmatch(text, -1) {
		first, rest, _ := strings.Cut(m[2], "\n")
		switch {
		case m[1] == "console":
			script.WriteString(console(m[2], publish))
		case strings.HasPrefix(first, "# repository: "):
			fmt.Fprintf(&files, "-- repo/%s --\n%s", strings.TrimPrefix(first, "# repository: "), rest)
		default:
			fmt.Fprintf(&files, "-- %s --\n%s", strings.TrimPrefix(first, "# "), rest)
		}
	}
	files.WriteString("-- repo/tenants/n60-team-a/app.yaml --\na: 1\n-- repo/tenants/n60-team-b/app.yaml --\nb: 1\n")
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(script.String()+files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// console returns the commands of one block.
func console(block, publish string) string {
	var out strings.Builder
	for part := range strings.SplitSeq("\n"+strings.TrimSpace(block), "\n$ ") {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		command := lines[0]
		change, changes := strings.CutPrefix(command, "# repository: ")
		verb, path, _ := strings.Cut(change, " ")
		switch {
		case command == "":
		case changes && verb == "rm":
			fmt.Fprintf(&out, "rm repo/%s\n%s", path, publish)
		case changes:
			fmt.Fprintf(&out, "cp tenants.yaml repo/%s\n%s", path, publish)
		case len(lines) == 1:
			fmt.Fprintf(&out, "exec %s\n", command)
		}
		for _, want := range lines[1:] {
			fmt.Fprintf(&out, "eventually -match '%s' %s\n", regexp.QuoteMeta(want), command)
		}
	}
	return out.String()
}
