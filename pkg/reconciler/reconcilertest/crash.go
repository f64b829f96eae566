package reconcilertest

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Scenario is a story of one owner, told in steps.
type Scenario struct {
	// Name is the reconciler's.
	Name string
	// Options are the reconciler's. Parallel is 1 unless it is set, so that
	// the calls of every run are the same; more is for finding races.
	Options reconciler.ReconcilerOptions
	// Store returns the store of a process that acts through c. Nil means one
	// in memory that outlives the processes.
	Store func(c client.Client, w World) inventory.Store
	Steps []Step
	// AtOnce is how many runs there are at the same time; zero means 8. More is
	// for scenarios that wait for others.
	AtOnce int
}

// Step is one wish of the owner and what others do meanwhile.
type Step struct {
	// Before, if set, is what others do before the first pass.
	Before func(ctx context.Context, w World) error
	// Request returns what the owner wants. The store and an empty owner id are
	// filled in. Nil means that the whole set is deleted.
	Request func(w World) reconciler.Request
	// Between, if set, is what others do after every pass that was not the
	// last. It may happen any number of times.
	Between func(ctx context.Context, w World) error
	// Until, if set, ends the step when it says so after a pass that changed
	// nothing. Nil means that the step ends when a pass is done.
	Until func(*reconciler.Result, error) bool
}

// World is where one run of a scenario takes place.
type World struct {
	// Client is that of everybody else.
	Client client.Client
	// Namespace is there and has nothing in it.
	Namespace string
	// Name belongs to this run alone, for objects outside the namespace. It is
	// a DNS label of at most 30 characters.
	Name string
}

// Tally is what a crash test did.
type Tally struct {
	Calls int // of the undisturbed run, and so the number of boundaries
	Runs  int
	// Missed are the runs that ended before the fault: how often a scenario has
	// to look for what others do may differ.
	Missed int
	Took   time.Duration
}

const (
	patience  = time.Minute      // with one run
	firstWait = time.Millisecond // after a pass that was not the last
	mostWait  = 250 * time.Millisecond
)

// CrashEach runs the scenario once undisturbed, and then again for every call
// that it makes to the API server or the store, in four ways: the process is
// killed before the call, or after it and before it learns of the answer, and
// a new one resumes from the committed inventory; or the call fails, or its
// answer is lost, and the same process goes on. Each run must end in the same
// objects and the same inventory, and hold on its way that
//
//   - an object is in the committed inventory before it is written, and until
//     it is gone or no longer ours;
//   - updates and deletes name the incarnation and version they are for;
//   - nothing is written or deleted that the undisturbed run left alone;
//   - items only go forward, and what they record is what is there;
//   - every write has a reason, and when all is done nothing is written.
//
// With go test -short only the answers of calls get lost, in both ways. The
// client must read from the server. Namespaces are made and deleted by it.
func CrashEach(t testing.TB, c client.Client, s Scenario) Tally {
	t.Helper()
	s.Options.Parallel = cmp.Or(s.Options.Parallel, 1)
	start := time.Now()
	grounds := &grounds{client: c}
	defer grounds.clear(t)
	want, err := grounds.run(t.Context(), s, fault{})
	if err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	faults := make(chan fault)
	var wait sync.WaitGroup
	var missed atomic.Int64
	for range cmp.Or(s.AtOnce, 8) {
		wait.Go(func() {
			for f := range faults {
				got, err := grounds.run(t.Context(), s, f)
				if err == nil {
					err = want.compare(got)
				}
				if got.struck == "" {
					missed.Add(1)
				}
				if err != nil {
					t.Errorf("%s: %v", f.on(got), err)
				}
			}
		})
	}
	manners := []manner{killAfter, failAfter}
	if !testing.Short() {
		manners = append(manners, killBefore, failBefore)
	}
	for i := range want.calls {
		for _, how := range manners {
			faults <- fault{call: i + 1, how: how}
		}
	}
	close(faults)
	wait.Wait()
	return Tally{want.calls, 1 + want.calls*len(manners), int(missed.Load()), time.Since(start)}
}

// fault is what goes wrong in a run; the zero value is nothing.
type fault struct {
	call int // counted from 1
	how  manner
}

type manner string

const (
	killBefore manner = "killed before"
	killAfter  manner = "killed after"
	failBefore manner = "failing"
	failAfter  manner = "losing the answer of"
)

func (f fault) on(r *record) string {
	if r.struck == "" {
		return fmt.Sprintf("%s call %d", f.how, f.call)
	}
	return fmt.Sprintf("%s call %d (%s)", f.how, f.call, r.struck)
}

// grounds lends each run a namespace of its own.
type grounds struct {
	client client.Client

	mu   sync.Mutex
	free []string
	all  []string
	next int
}

func (g *grounds) take(ctx context.Context) (World, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next++
	if len(g.free) == 0 {
		ns := namespace("crash-" + strings.ToLower(rand.Text()[:8]))
		if err := g.client.Create(ctx, ns); err != nil {
			return World{}, err
		}
		g.free, g.all = append(g.free, ns.GetName()), append(g.all, ns.GetName())
	}
	w := World{Client: g.client, Namespace: g.free[len(g.free)-1]}
	w.Name = fmt.Sprintf("%s-%d", w.Namespace, g.next)
	g.free = g.free[:len(g.free)-1]
	return w, nil
}

// back takes the namespace of a run whose objects are gone.
func (g *grounds) back(w World) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free = append(g.free, w.Namespace)
}

func (g *grounds) clear(t testing.TB) {
	for _, name := range g.all {
		if err := g.client.Delete(context.WithoutCancel(t.Context()), namespace(name)); client.IgnoreNotFound(err) != nil {
			t.Errorf("deleting namespace %q: %v", name, err)
		}
	}
}

func namespace(name string) *unstructured.Unstructured {
	return object.Key{Kind: "Namespace", Name: name}.Stub("v1")
}
