package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// guide is a page whose commands are played.
type guide struct {
	page string // in docs/
	// script is the name of the script that the page becomes, as of a file of
	// testdata.
	script string
	// names match the beginnings of names on the page that get the script's
	// prefix.
	names []string
}

var guides = []guide{
	{"namespaces.md", "n60-guide", []string{`platform\b`, "team-"}},
	{"replications.md", "d10-replications", []string{`solar\b`, `oil\b`, `platform\b`, `energy\b`}},
	{"migrate-from-capsule.md", "d20-capsule", []string{`mill\b`}},
	{"migrate-from-reflector.md", "d30-reflector", []string{`certs\b`, `web\b`, "reflector-system"}},
}

const (
	publish = "source GitRepository n60-platform/monorepo repo\n"
	// everywhere is said on pages; on a cluster with tenants of others it means
	// our own.
	everywhere = "  # no tenantSelector: all tenants\n"
)

// pages returns the scripts that the guides become.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, g := range guides {
		out = append(out, g.write(t))
	}
	return out
}

// write writes the page as a script. A block of YAML whose first line is a
// comment is the file of that name, which "repository: " puts into the source.
// What was there before the page begins, if anything, is in testdata/pages:
// commands, and files. In the end the replications and all that is in their files
// are deleted.
func (g guide) write(t *testing.T) string {
	t.Helper()
	text := g.renamed(t, filepath.Join(root, "docs", g.page))
	before := filepath.Join("testdata/pages", g.script+".txtar")
	archive := &txtar.Archive{}
	if _, err := os.Stat(before); err == nil {
		archive = txtar.Parse([]byte(g.renamed(t, before)))
	}
	var s strings.Builder
	s.Write(archive.Comment)
	for _, m := range regexp.MustCompile("(?s)\n```(yaml|console|sh)\n(.*?\n)```\n").FindAllStringSubmatch(text, -1) {
		switch first, rest, _ := strings.Cut(m[2], "\n"); {
		case m[1] == "console":
			s.WriteString(console(m[2]))
		case m[1] == "sh" && strings.Contains(m[2], "-k config/default"):
			s.WriteString("controller start\n") // the rest of it is there
		case m[1] == "sh":
		case strings.HasPrefix(first, "# repository: "):
			archive.Files = append(archive.Files, txtar.File{Name: "repo/" + strings.TrimPrefix(first, "# repository: "), Data: []byte(rest)})
		case strings.HasPrefix(first, "# "):
			archive.Files = append(archive.Files, txtar.File{Name: strings.TrimPrefix(first, "# "), Data: []byte(rest)})
		}
	}
	archive.Comment = []byte(s.String() + clearing(t, archive.Files))
	file := filepath.Join(t.TempDir(), g.script+".txtar")
	if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// renamed reads a file and gives its names the script's prefix.
func (g guide) renamed(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	prefix := prefixOf(g.script)
	text := string(data)
	for _, name := range g.names {
		text = regexp.MustCompile(`\b`+name).ReplaceAllString(text, prefix+"-$0")
	}
	return strings.ReplaceAll(text, everywhere, "  tenantSelector: {matchExpressions: [{key: "+prefix+"-energy, operator: Exists}]}\n")
}

// console returns the commands of one block. Lines with $ are commands, and all
// that follow one are in its output sooner or later, where … is anything; if
// they begin with Error, it fails at once and says so. A comment as command
// changes the repository.
func console(block string) string {
	var out strings.Builder
	for part := range strings.SplitSeq("\n"+strings.TrimSpace(block), "\n$ ") {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		command := lines[0]
		change, changes := strings.CutPrefix(command, "# repository: ")
		verb, path, _ := strings.Cut(change, " ")
		fails := len(lines) > 1 && strings.HasPrefix(lines[1], "Error")
		switch {
		case command == "":
		case changes && verb == "rm":
			fmt.Fprintf(&out, "rm repo/%s\n%s", path, publish)
		case changes:
			fmt.Fprintf(&out, "cp tenants.yaml repo/%s\n%s", path, publish)
		case fails:
			fmt.Fprintf(&out, "! exec %s\n", command)
		case len(lines) == 1:
			fmt.Fprintf(&out, "exec %s\n", command)
		}
		for _, want := range lines[1:] {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
			if fails {
				fmt.Fprintf(&out, "stderr '%s'\n", pattern)
			} else {
				fmt.Fprintf(&out, "eventually -match '%s' %s\n", pattern, command)
			}
		}
	}
	return out.String()
}

// manifest matches files with objects.
var manifest = regexp.MustCompile(`(^|\n|\{|, )kind: `)

// clearing returns the commands that delete the replications of the files, and
// then all else: they need the rights that are among it.
func clearing(t *testing.T, files []txtar.File) string {
	t.Helper()
	var first, then []string
	for _, f := range files {
		if strings.Contains(f.Name, "/") {
			continue // of the repository
		}
		for doc := range strings.SplitSeq(string(f.Data), "\n---\n") {
			var o unstructured.Unstructured
			if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			if strings.HasSuffix(o.GetKind(), "TenantResource") {
				first = append(first, fmt.Sprintf("exec kubectl delete %s %s --namespace=%s --ignore-not-found --timeout=60s\n", o.GetKind(), o.GetName(), o.GetNamespace()))
			}
		}
		if manifest.Match(f.Data) {
			then = append(then, "exec kubectl delete --ignore-not-found --wait=false -f "+f.Name+"\n")
		}
	}
	if len(first) == 0 {
		return ""
	}
	return strings.Join(append(first, then...), "")
}
