package crash_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/reconcilertest"
)

// spy is a test that may fail.
type spy struct {
	testing.TB

	mu     sync.Mutex
	errors []string
}

func (s *spy) Errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors, fmt.Sprintf(format, args...))
}

type stop struct{}

func (s *spy) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	panic(stop{})
}

// forgetful is a store with a fault.
type forgetful struct {
	inventory.Store

	change func(inventory.Change) inventory.Change
}

func (s forgetful) Commit(ctx context.Context, owner string, c inventory.Change) (string, error) {
	return s.Store.Commit(ctx, owner, s.change(c))
}

// TestRunnerFindsFaults: what it is there to find, it finds.
func TestRunnerFindsFaults(t *testing.T) {
	for name, c := range map[string]struct {
		change func(inventory.Change) inventory.Change
		want   string
	}{
		"nothing is written ahead": {
			func(c inventory.Change) inventory.Change {
				if c.Ahead {
					c.Next.Items = nil
				}
				return c
			},
			"is ours and not in the committed inventory",
		},
		"the end of a pass is lost": {
			func(c inventory.Change) inventory.Change {
				if !c.Ahead {
					c.Next = c.Base
				}
				return c
			},
			"makes the call commit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &spy{TB: t}
			func() {
				defer func() {
					if r := recover(); r != nil && r != (stop{}) {
						panic(r)
					}
				}()
				admin, err := client.New(shared.Cluster(t).Admin(), client.Options{})
				if err != nil {
					t.Fatal(err)
				}
				var all sync.Map // of memories by run
				reconcilertest.CrashEach(s, admin, reconcilertest.Scenario{
					Name: "crash.weir.dev",
					Store: func(_ client.Client, w reconcilertest.World) inventory.Store {
						m, _ := all.LoadOrStore(w.Name, &inventory.Memory{})
						return forgetful{m.(*inventory.Memory), c.change}
					},
					Steps: []reconcilertest.Step{{Request: configMaps("a")}},
				})
			}()
			if got := strings.Join(s.errors, "\n"); !strings.Contains(got, c.want) {
				t.Errorf("it finds only:\n%s", got)
			}
		})
	}
}
