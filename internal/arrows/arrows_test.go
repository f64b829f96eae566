// Package arrows holds who may import whom. It is only a test: it parses the
// files of the module itself, for a cached list of packages would hide a new
// import.
package arrows

import (
	"cmp"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/weir-dev/weir/"

// layers are the rooms from the bottom up. A room may import rooms of lower
// layers, and of its own layer only those that stand before it.
var layers = []struct {
	name  string
	rooms []string
	// pure rooms import no client, os or net, and read no clock.
	pure bool
}{
	{"api", []string{"api/source/v1beta1", "api/capsule/v1beta2"}, true},
	// The object reconciler is for other modules too and knows nothing of this one.
	{"reconciler decides", []string{
		"pkg/reconciler/object", "pkg/reconciler/policy", "pkg/reconciler/stamp", "pkg/reconciler/fault",
		"pkg/reconciler/health", "pkg/reconciler/internal/order", "pkg/reconciler/internal/field",
		"pkg/reconciler/internal/set", "pkg/reconciler/inventory", "pkg/reconciler/plan",
	}, true},
	{"reconciler acts", []string{
		"pkg/reconciler/internal/share", "pkg/reconciler/internal/write", "pkg/reconciler/shard",
		"pkg/reconciler/internal/memory", "pkg/reconciler/internal/live", "pkg/reconciler/internal/leave",
		"pkg/reconciler/internal/look", "pkg/reconciler/internal/book", "pkg/reconciler/internal/deed",
		"pkg/reconciler/internal/pass", "pkg/reconciler",
	}, false},
	{"ground", []string{"internal/fail", "internal/tally", "internal/budget", "internal/digest", "internal/glob"}, true},
	{"shell", []string{"internal/step", "internal/loop"}, false},
	{"bytes", []string{"internal/blob"}, false},
	{"trees", []string{"internal/tree"}, true},
	{"core", []string{
		"internal/values", "internal/metadata", "internal/archive", "internal/pack", "internal/inputs",
		"internal/expand", "internal/namespace", "internal/compose", "internal/recipe", "internal/view",
	}, true},
	{"replications decide", []string{
		"internal/tenant", "internal/target", "internal/condition", "internal/template/library", "internal/template",
		"internal/protect/mark", "internal/replicate", "internal/protect",
	}, true},
	{"engine", []string{"internal/build"}, false},
	{"adapters", []string{
		"internal/access", "internal/local", "internal/fetch", "internal/durable", "internal/store", "internal/serve", "internal/relay", "internal/beacon", "internal/notify", "internal/metrics",
	}, false},
	{"controller values", []string{
		"internal/controller/external", "internal/controller/space", "internal/controller/ledger",
		"internal/controller/draft", "internal/controller/item", "internal/controller/lane",
	}, true},
	{"controllers", []string{
		"internal/controller/guard", "internal/keep", "internal/controller/source", "internal/controller/chain", "internal/controller/publish",
		"internal/controller/report", "internal/controller/artifactgenerator",
		"internal/controller/account", "internal/controller/membership", "internal/controller/tenant",
		"internal/controller/origin", "internal/controller/record", "internal/controller/wake", "internal/controller/sight", "internal/controller/concern", "internal/controller/objects", "internal/controller/heritage", "internal/controller/wanted", "internal/controller/forecast",
		"internal/controller/replication",
	}, false},
	{"kinds of commands", []string{"internal/cli/kind"}, true},
	{"programs", []string{
		"internal/cli/manifest", "internal/cli/terminal", "internal/cli/process", "internal/cli/cluster", "internal/cli/printer",
		"internal/cli/offline", "internal/cli/online", "internal/cli", "internal/replicator", "internal/app",
	}, false},
	{"test cluster", []string{"internal/child", "internal/testcluster", "internal/testpod", "internal/testflux", "internal/testforge"}, false},
	{"demo", []string{"internal/demo"}, false},
	{"commands", []string{"cmd/weir", "cmd/weir-controller"}, false},
}

// notPure are the imports that a pure room must do without. The package of a
// clock's type is allowed, its clock is not: see [clock].
var notPure = []string{
	"os", "os/exec", "os/signal", "net", "net/http", "syscall", "io/ioutil", "math/rand", "crypto/rand",
	"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "golang.org/x/sync",
}

// closed rooms have a list of all that they may import beside the standard
// library.
var closed = map[string][]string{
	"api/source/v1beta1":  {"k8s.io/apimachinery"},
	"api/capsule/v1beta2": {"k8s.io/apimachinery"},
	"internal/fail":       {},
	"internal/glob":       {},
	"internal/step":       {},
	"internal/loop": {
		module + "internal/fail", module + "internal/step",
		"k8s.io/apimachinery", "sigs.k8s.io/controller-runtime", "github.com/evanphx/json-patch/v5",
	},
	"internal/blob": {},
	"internal/tree": {module + "internal/blob"},
}

// reconciler is what pkg/reconciler may import: operator authors take it into
// their own programs, and each dependency comes along.
var reconciler = []string{
	module + "pkg/reconciler", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go",
	"sigs.k8s.io/controller-runtime/pkg/client", "sigs.k8s.io/structured-merge-diff/v6",
}

func TestArrowsPointDown(t *testing.T) {
	rank := map[string]int{}
	pure := map[string]bool{}
	for _, l := range layers {
		for _, room := range l.rooms {
			rank[room] = len(rank) + 1
			pure[room] = l.pure
		}
	}
	for room, imports := range rooms(t) {
		at := rank[room]
		if strings.HasPrefix(room, "pkg/") {
			closed[room] = reconciler
		}
		if at == 0 {
			t.Errorf("%s has no place in the layers", room)
			continue
		}
		for imported, file := range imports {
			if own, ok := strings.CutPrefix(imported, module); ok && rank[own] >= at {
				t.Errorf("%s: %s imports %s, which stands above it", file, room, own)
			}
			if pure[room] && matches(notPure, imported) {
				t.Errorf("%s: %s is pure and imports %s", file, room, imported)
			}
			if list, ok := closed[room]; ok && isForeign(imported) && !matches(list, imported) {
				t.Errorf("%s: %s imports %s, which is not on its list", file, room, imported)
			}
		}
	}
}

// isForeign reports whether an import is not of the standard library.
func isForeign(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return strings.Contains(first, ".")
}

func matches(list []string, imported string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		return imported == p || isForeign(p) && strings.HasPrefix(imported, p+"/")
	})
}

// rooms returns the imports of each package of the module that is no test,
// with a file that has the import.
func rooms(t *testing.T) map[string]map[string]string {
	t.Helper()
	root := moduleRoot(t)
	out := map[string]map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, name, d)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		room := path.Dir(filepath.ToSlash(rel))
		if out[room] == nil {
			out[room] = map[string]string{}
		}
		return imports(name, rel, out[room])
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range maps.Keys(out) {
		if testOnly(room) {
			delete(out, room)
		}
	}
	return out
}

// testOnly reports whether a room is there for tests alone, and may import
// what a test may.
func testOnly(room string) bool {
	return strings.HasSuffix(path.Base(room), "test") || strings.HasPrefix(room, "test/") || strings.HasPrefix(room, "examples")
}

// skip leaves out what is not part of this module.
func skip(root, name string, d fs.DirEntry) error {
	base := d.Name()
	if name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != root {
		return fs.SkipDir
	}
	return nil
}

func imports(name, rel string, into map[string]string) error {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) && strings.Contains(c.Text, "ignore") {
				return nil
			}
		}
	}
	for _, i := range f.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		into[imported] = cmp.Or(into[imported], rel)
	}
	return nil
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above this test")
		}
		dir = filepath.Dir(dir)
	}
}

// clock are the functions of package time that a pure room must not call.
var clock = []string{"time.Now(", "time.Since(", "time.Until(", "time.Sleep(", "time.After(", "time.Tick(", "time.NewTimer(", "time.NewTicker("}

func TestPureRoomsReadNoClock(t *testing.T) {
	root := moduleRoot(t)
	for _, l := range layers {
		for _, room := range l.rooms {
			if !l.pure {
				continue
			}
			files, err := filepath.Glob(filepath.Join(root, room, "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range files {
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				for _, call := range clock {
					if strings.Contains(string(data), call) && !strings.HasSuffix(name, "_test.go") {
						t.Errorf("%s: %s is pure and calls %s)", name, room, call)
					}
				}
			}
		}
	}
}
