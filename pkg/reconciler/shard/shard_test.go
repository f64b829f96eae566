package shard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/inventory/storetest"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/shard"
)

var shared testcluster.Shared

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

func open(t *testing.T) (client.Client, string) {
	t.Helper()
	cluster := shared.Cluster(t)
	c, err := client.New(cluster.Admin(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c, cluster.Namespace(t)
}

func TestStore(t *testing.T) {
	for _, size := range []int{0, 200} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) func() inventory.Store {
				c, ns := open(t)
				return func() inventory.Store { return &shard.Store{Client: c, Namespace: ns, MaxBytes: size} }
			})
		})
	}
}

func items(n int) []inventory.Item {
	all := make([]inventory.Item, n)
	for i := range all {
		sum := object.Hash(strconv.Itoa(i)) + object.Hash(strconv.Itoa(-i))
		all[i] = inventory.Item{
			Key:     object.Key{Kind: "ConfigMap", Namespace: fmt.Sprintf("tenant-%04d", i/10), Name: fmt.Sprintf("profile-%d", i%10)},
			Version: "v1", State: inventory.Ready, UID: types.UID(sum), ResourceVersion: strconv.Itoa(1000 + i), Created: true,
			Digest: sum, Owned: sum, At: metav1.Unix(1700000000, 0), Policy: policy.Policy{Delete: policy.DeleteAlways},
		}
	}
	return all
}

// R102: no object of the inventory of 10,000 objects exceeds 1 MiB.
func TestR102TenThousandItems(t *testing.T) {
	c, ns := open(t)
	s := &shard.Store{Client: c, Namespace: ns}
	want := inventory.New("", items(10_000))
	if _, err := s.Commit(t.Context(), "big", inventory.Change{Next: want}); err != nil {
		t.Fatal(err)
	}
	list := &corev1.ConfigMapList{}
	if err := c.List(t.Context(), list, client.InNamespace(ns), client.HasLabels{"inventory.weir.dev/shard"}); err != nil {
		t.Fatal(err)
	}
	for _, cm := range list.Items {
		n := len(cm.BinaryData["items"])
		t.Logf("%s holds %d bytes", cm.Name, n)
		if n > 1<<20 {
			t.Errorf("%s holds %d bytes", cm.Name, n)
		}
	}
	got, err := (&shard.Store{Client: c, Namespace: ns}).Load(t.Context(), "big")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Items, got.Items); d != "" {
		t.Error(d)
	}
}

// faulty fails the n-th write.
type faulty struct {
	client.Client
	left int
}

var errKilled = errors.New("killed")

func (f *faulty) spend() error {
	if f.left--; f.left < 0 {
		return errKilled
	}
	return nil
}

func (f *faulty) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := f.spend(); err != nil {
		return err
	}
	return f.Client.Create(ctx, o, opts...)
}

func (f *faulty) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if err := f.spend(); err != nil {
		return err
	}
	return f.Client.Update(ctx, o, opts...)
}

func (f *faulty) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if err := f.spend(); err != nil {
		return err
	}
	return f.Client.Delete(ctx, o, opts...)
}

// A commit that is cut short at any write loses no item that is in both the
// old and the new inventory, and the next commit repairs everything.
func TestTornCommit(t *testing.T) {
	for name, c := range map[string]struct{ before, after []inventory.Item }{
		"others":  {items(16), items(24)[8:]},
		"first":   {nil, items(16)},
		"many":    {items(4), items(24)},
		"none":    {items(16), nil},
		"changed": {items(16), changed(items(16), 0, 3, 6, 9, 12)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 0; ; n++ {
				if !tear(t, n, c.before, c.after) {
					t.Logf("a commit took %d writes", n)
					return
				}
			}
		})
	}
}

// tear commits an inventory after another and fails after n writes. It reports
// whether there were more.
func tear(t *testing.T, n int, before, after []inventory.Item) bool {
	t.Helper()
	c, ns := open(t)
	s := &shard.Store{Client: c, Namespace: ns, MaxBytes: 400}
	if _, err := s.Commit(t.Context(), "o", inventory.Change{Next: inventory.New("", before)}); err != nil {
		t.Fatal(err)
	}
	s.Client = &faulty{Client: c, left: n}
	base, err := s.Load(t.Context(), "o")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Commit(t.Context(), "o", inventory.Change{Base: base, Next: inventory.New("", after)})
	killed := errors.Is(err, errKilled)
	if err != nil && !killed {
		t.Fatal(err)
	}
	fresh := &shard.Store{Client: c, Namespace: ns, MaxBytes: 400}
	got, err := fresh.Load(t.Context(), "o")
	if err != nil {
		t.Fatal(err)
	}
	kept := inventory.New("", after)
	for _, it := range before {
		_, stays := kept.Find(it.Key)
		if _, ok := got.Find(it.Key); stays && !ok {
			t.Fatalf("killed at write %d: %s is lost", n, it.Key)
		}
	}
	if _, err := fresh.Commit(t.Context(), "o", inventory.Change{Base: got, Next: kept}); err != nil {
		t.Fatalf("repairing after write %d: %v", n, err)
	}
	got, err = (&shard.Store{Client: c, Namespace: ns}).Load(t.Context(), "o")
	if err != nil || !cmp.Equal(got.Items, kept.Items) {
		t.Fatalf("after repair: %v %d items", err, len(got.Items))
	}
	return killed
}

// changed returns the items, some of them with another state.
func changed(all []inventory.Item, which ...int) []inventory.Item {
	for _, i := range which {
		all[i].State = inventory.Applied
	}
	return all
}

// A commit writes no more than what changed.
func TestWrites(t *testing.T) {
	c, ns := open(t)
	const all = 1 << 10
	f := &faulty{Client: c, left: all}
	s := &shard.Store{Client: f, Namespace: ns, MaxBytes: 1000}
	v := inventory.Inventory{}
	for _, step := range []struct {
		name   string
		next   []inventory.Item
		writes int
	}{
		{"the same", items(100), 0},
		{"one item", changed(items(100), 50), 1},
		{"one item of another shard", changed(items(100), 50, 51), 1},
		{"an item less", changed(items(100), 50, 51)[1:], 3},
	} {
		if v.Version == "" {
			version, err := s.Commit(t.Context(), "o", inventory.Change{Next: inventory.New("", items(100))})
			if err != nil {
				t.Fatal(err)
			}
			v.Version = version
		}
		f.left = all
		version, err := s.Commit(t.Context(), "o", inventory.Change{Base: v, Next: inventory.New("", step.next)})
		if err != nil {
			t.Fatal(err)
		}
		if n := all - f.left; n > step.writes || step.writes > 0 && n == 0 {
			t.Errorf("%s: %d writes, want %d", step.name, n, step.writes)
		}
		v.Version = version
		got, err := (&shard.Store{Client: c, Namespace: ns}).Load(t.Context(), "o")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(step.next, got.Items); d != "" || got.Version != version {
			t.Errorf("%s: version %s, committed %s (-want +got):\n%s", step.name, got.Version, version, d)
		}
	}
}

// Whichever ConfigMap somebody deletes, that is noticed, and all can be removed.
func TestLost(t *testing.T) {
	for i := range 4 {
		c, ns := open(t)
		s := &shard.Store{Client: c, Namespace: ns, MaxBytes: 1000}
		for _, owner := range []string{"o", "other"} {
			if _, err := s.Commit(t.Context(), owner, inventory.Change{Next: inventory.New("", items(100))}); err != nil {
				t.Fatal(err)
			}
		}
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
		if err := c.List(t.Context(), &list, client.InNamespace(ns), client.MatchingLabels(shard.Labels("o"))); err != nil {
			t.Fatal(err)
		}
		if v, err := shard.Read("o", slices.Clone(list.Items)); err != nil || len(v.Items) != 100 {
			t.Fatalf("read %d items, error %v", len(v.Items), err)
		}
		lost := &list.Items[i]
		if err := c.Delete(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		fresh := &shard.Store{Client: c, Namespace: ns}
		v, err := fresh.Load(t.Context(), "o")
		if isHead := v.Version == "0"; !errors.Is(err, shard.ErrLost) && !isHead {
			t.Errorf("without %s: version %q, error %v", lost.GetName(), v.Version, err)
		}
		if err := fresh.Remove(t.Context(), "o"); err != nil {
			t.Fatal(err)
		}
		if owners, err := fresh.Owners(t.Context()); err != nil || !slices.Equal(owners, []string{"other"}) {
			t.Errorf("owners %q, error %v", owners, err)
		}
	}
}
