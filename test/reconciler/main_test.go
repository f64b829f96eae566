// Package reconciler_test holds the requirements of the object reconciler.
// Each has a script named by its number below testdata, or a Go test where a
// script cannot say it. All run on one real API server.
package reconciler_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weir-dev/weir/internal/testcluster"
)

var (
	shared testcluster.Shared
	update = flag.Bool("update", false, "rewrite what the scripts want")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Scripts wait for the server most of the time.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(shared.Run(m))
}

func TestAdoption(t *testing.T)   { scripts(t, "adoption") }
func TestReconcile(t *testing.T)  { scripts(t, "reconcile") }
func TestUpdate(t *testing.T)     { scripts(t, "update") }
func TestDelete(t *testing.T)     { scripts(t, "delete") }
func TestNamespaces(t *testing.T) { scripts(t, "namespaces") }
func TestManifests(t *testing.T)  { scripts(t, "manifests") }
func TestOrder(t *testing.T)      { scripts(t, "order") }
func TestReadiness(t *testing.T)  { scripts(t, "readiness") }
func TestSharing(t *testing.T)    { scripts(t, "sharing") }
func TestInventory(t *testing.T)  { scripts(t, "inventory") }

func scripts(t *testing.T, theme string) {
	t.Parallel()
	cluster := shared.Cluster(t)
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/" + theme,
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Cmds:               commands(),
		Setup: func(env *testscript.Env) error {
			w, err := newWorld(t, cluster)
			if err != nil {
				return fmt.Errorf("making a world: %w", err)
			}
			env.Values[worldKey{}] = w
			env.Setenv("NS", w.namespace)
			return nil
		},
	})
}

type worldKey struct{}

func commands() map[string]func(*testscript.TestScript, bool, []string) {
	cmds := map[string]func(*testscript.TestScript, bool, []string){}
	for name, run := range map[string]func(*world, *call) error{
		"owner":     (*world).setOwner,
		"component": (*world).setComponent,
		"options":   (*world).setOptions,
		"identity":  (*world).setIdentity,
		"clock":     (*world).setClock,
		"release":   (*world).setRelease,
		"forget":    (*world).loseInventory,
		"recover":   (*world).recoverInventory,

		"plan":     (*world).plan,
		"apply":    (*world).apply,
		"converge": (*world).converge,
		"delete":   (*world).delete,
		"teardown": (*world).teardown,
		"allowed":  (*world).allowed,

		"as":     (*world).as,
		"before": (*world).before,

		"calls":     (*world).printCalls,
		"reads":     (*world).countReads,
		"writes":    (*world).countWrites,
		"inventory": (*world).printInventory,
		"observed":  (*world).printObserved,
		"live":      (*world).live,
		"there":     (*world).there,
		"save":      (*world).save,
		"same":      (*world).same,
	} {
		cmds[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			w := ts.Value(worldKey{}).(*world)
			c := &call{args: args, neg: neg, read: ts.ReadFile, out: ts.Stdout()}
			err := run(w, c)
			switch {
			case c.told: // the command has looked at neg itself
			case neg && err == nil:
				ts.Fatalf("unexpected success")
			case neg:
				fmt.Fprintln(ts.Stderr(), w.neutral(err.Error()))
				return
			}
			if err != nil {
				ts.Fatalf("%s", w.neutral(err.Error()))
			}
		}
	}
	return cmds
}
