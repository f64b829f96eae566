package keep_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/keep"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/internal/store/storetest"
)

// house is a store with its keeper, and a cluster that uses it.
type house struct {
	client.Client
	t     *testing.T
	dir   string
	store *store.Disk
	opts  keep.Options

	mu     sync.Mutex
	events []string // guarded by mu
	woken  []string // guarded by mu
	swept  []store.Swept
}

// WaitForCacheSync makes the client look like a cache.
func (h *house) WaitForCacheSync(context.Context) bool { return true }

// Record implements loop.Events.
func (h *house) Record(about client.Object, e loop.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, fmt.Sprintf("%s %s %s: %s", about.GetName(), e.Reason, e.Action, e.Message))
}

func newHouse(t *testing.T) *house {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1beta1.AddToScheme, sourcev1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	h := &house{t: t, dir: t.TempDir(), Client: fake.NewClientBuilder().WithScheme(s).Build()}
	var err error
	if h.store, err = store.OpenDisk(h.dir, store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.store.Close() })
	h.opts = keep.Options{
		Store: h.store, Cache: h, Events: h, Log: logr.Discard(), TTL: time.Nanosecond,
		URL: func(path string) string { return "http://here/" + path },
		Wake: func(g *v1beta1.ArtifactGenerator) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.woken = append(h.woken, g.Name)
		},
		Observe: func(s store.Swept) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.swept = append(h.swept, s)
		},
	}
	return h
}

// put stores an artifact as if it had been published long ago, and returns its
// path.
func (h *house) put(name, data string) string {
	h.t.Helper()
	a := storetest.Put(h.t, h.store, types.NamespacedName{Namespace: "apps", Name: name}, storetest.Tree(h.t, map[string]string{"f": data}))
	referenced := map[string]bool{a.Path: true}
	if _, err := h.store.Sweep(h.t.Context(), store.Policy{Now: time.Now(), Referenced: referenced, Records: 9, TTL: time.Hour}); err != nil {
		h.t.Fatal(err)
	}
	return a.Path
}

// generator creates a generator with the files in its inventory.
func (h *house) generator(name string, busy bool, files ...string) {
	h.t.Helper()
	g := &v1beta1.ArtifactGenerator{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, UID: types.UID(name)}}
	for _, f := range files {
		part := strings.Split(f, "/")
		g.Status.Inventory = append(g.Status.Inventory, v1beta1.InventoryEntry{
			Kind: v1beta1.InventoryArtifact, Namespace: part[1], Name: part[2], Filename: part[3],
		})
	}
	if busy {
		g.Status.Conditions = []metav1.Condition{{Type: "Reconciling", Status: metav1.ConditionTrue}}
	}
	if err := h.Create(h.t.Context(), g); err != nil {
		h.t.Fatal(err)
	}
}

// artifact creates an ExternalArtifact that points to the file on a host.
func (h *house) artifact(name, host, file string) {
	h.t.Helper()
	o := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}}
	o.Status.Artifact = &meta.Artifact{Path: file, URL: "http://" + host + "/" + file}
	if err := h.Create(h.t.Context(), o); err != nil {
		h.t.Fatal(err)
	}
}

// once runs the keeper until it has swept and verified, and then until done
// says so.
func (h *house) once(done func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	ended := make(chan error)
	go func() { ended <- keep.New(h.opts).Start(ctx) }()
	await(h.t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.swept) > 0 && done()
	})
	cancel()
	if err := <-ended; err != nil {
		h.t.Error(err)
	}
	slices.Sort(h.events)
	slices.Sort(h.woken)
}

func (h *house) has(file string) bool {
	_, err := os.Stat(filepath.Join(h.dir, file))
	return err == nil
}

// W29: what inventories and ExternalArtifacts point to stays; the rest goes after
// its time, and its generator is told in one event. What an ExternalArtifact
// has on another server is no business of this store: its generator went to
// another shard.
func TestSweep(t *testing.T) {
	h := newHouse(t)
	old1, old2, now := h.put("a", "1"), h.put("a", "2"), h.put("a", "3")
	told, moved, nobody := h.put("told", "1"), h.put("moved", "1"), h.put("nobody", "1")
	h.generator("gen", false, now)
	h.artifact("told", "here", told)
	h.artifact("moved", "there", moved)
	h.once(func() bool { return true })
	for file, want := range map[string]bool{now: true, told: true, old1: false, old2: false, moved: false, nobody: false} {
		if got := h.has(file); got != want {
			t.Errorf("%s is there: %v, want %v", file, got, want)
		}
	}
	if len(h.events) != 1 || !strings.HasPrefix(h.events[0], "gen GarbageCollectionSucceeded CollectGarbage: removed what is superseded ") {
		t.Errorf("events %q", h.events)
	}
	if s := h.swept[0]; s.Kept != 2 || s.KeptBytes == 0 || s.Bytes == 0 {
		t.Errorf("observed %+v", s)
	}
}

// Damaged and missing files are told of and have their generators woken, but
// for those whose files are only being made.
func TestVerify(t *testing.T) {
	h := newHouse(t)
	damaged, missing, fine, coming := h.put("damaged", "1"), h.put("missing", "1"), h.put("fine", "1"), h.put("coming", "1")
	h.generator("one", false, damaged, fine)
	h.generator("two", false, missing)
	h.generator("busy", true, coming)
	for _, file := range []string{missing, coming} {
		if err := os.Remove(filepath.Join(h.dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(h.dir, damaged))
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(filepath.Join(h.dir, damaged), data, 0o600); err != nil {
		t.Fatal(err)
	}
	h.once(func() bool { return len(h.woken) == 2 })
	want := []string{
		"one ArtifactDamaged Verify: found damaged, to be made again: 1 file (" + damaged + ")",
		"two ArtifactMissing Verify: found missing, to be made again: 1 file (" + missing + ")",
	}
	if diff := cmp.Diff(want, h.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one", "two"}, h.woken); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

// A file that is found damaged while it is served is not waited for.
func TestDoubt(t *testing.T) {
	h := newHouse(t)
	fine, file := h.put("fine", "1"), h.put("damaged", "1")
	h.generator("gen", false, fine, file)
	k := keep.New(h.opts)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- k.Start(ctx) }()
	await(t, func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.swept) > 0 })
	if err := os.WriteFile(filepath.Join(h.dir, file), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.Doubt(fine)
	k.Doubt("no/file")
	k.Doubt(file)
	await(t, func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.woken) > 0 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if h.has(file) || !h.has(fine) {
		t.Error("the wrong file is gone")
	}
	// The first verification of all may have come across it too.
	damaged := slices.DeleteFunc(h.events, func(e string) bool { return !strings.HasPrefix(e, "gen ArtifactDamaged Verify: ") })
	if len(damaged) != 1 {
		t.Errorf("events %q", damaged)
	}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the keeper does not do what is wanted")
		}
	}
}

// A thousand files are told of in one short event.
func TestManyFiles(t *testing.T) {
	h := newHouse(t)
	var files []string
	for i := range 1000 {
		files = append(files, fmt.Sprintf("externalartifact/apps/a%04d/%064x.tar.gz", i, i))
	}
	h.generator("gen", false, files...)
	h.once(func() bool { return len(h.woken) == 1 })
	if len(h.events) != 1 || len(h.events[0]) > 500 || !strings.Contains(h.events[0], "1000 files") {
		t.Errorf("events %q", h.events)
	}
}

// A sweep happens though somebody asks for one all the while, and once more
// after the last of them.
func TestAskingDoesNotPutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sweeps atomic.Int64
		k := keep.New(keep.Options{
			Store: &idle{}, Cache: empty{}, Log: logr.Discard(), TTL: time.Minute, SweepEvery: time.Hour,
			Observe: func(store.Swept) { sweeps.Add(1) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- k.Start(ctx) }()
		for range 10 * 60 {
			time.Sleep(time.Second)
			k.Ask()
		}
		if n := sweeps.Load(); n < 9 || n > 11 {
			t.Errorf("%d sweeps in ten minutes in which one is asked for every second", n)
		}
		before := sweeps.Load()
		time.Sleep(3 * time.Minute)
		if n := sweeps.Load() - before; n < 1 || n > 2 {
			t.Errorf("%d sweeps after the last one was asked for", n)
		}
		before = sweeps.Load()
		time.Sleep(3 * time.Hour)
		if n := sweeps.Load() - before; n != 3 {
			t.Errorf("%d sweeps in three hours in which none is asked for", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// idle is a store with nothing in it, and empty a cache.
type idle struct{}

func (*idle) Sweep(context.Context, store.Policy) (store.Swept, error) { return store.Swept{}, nil }
func (*idle) Verify(context.Context, store.Check) (store.Verified, error) {
	return store.Verified{}, nil
}
func (*idle) Examine(context.Context, string) (bool, error) { return true, nil }

type empty struct{ client.Reader }

func (empty) WaitForCacheSync(context.Context) bool { return true }

func (empty) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// Whoever asks for a sweep need not wait for it.
func TestAskDoesNotBlock(*testing.T) {
	k := keep.New(keep.Options{})
	for range 10 {
		k.Ask()
	}
}
