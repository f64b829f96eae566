package shard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	c, ns := open(t)
	before, after := items(40), items(60)[10:]
	both := items(40)[10:]
	for n := 0; ; n++ {
		owner := fmt.Sprint("torn", n)
		s := &shard.Store{Client: c, Namespace: ns, MaxBytes: 400}
		if _, err := s.Commit(t.Context(), owner, inventory.Change{Next: inventory.New("", before)}); err != nil {
			t.Fatal(err)
		}
		f := &faulty{Client: c, left: n}
		s.Client = f
		base, err := s.Load(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Commit(t.Context(), owner, inventory.Change{Base: base, Next: inventory.New("", after)})
		killed := errors.Is(err, errKilled)
		if err != nil && !killed {
			t.Fatal(err)
		}
		fresh := &shard.Store{Client: c, Namespace: ns, MaxBytes: 400}
		got, err := fresh.Load(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range both {
			if _, ok := got.Find(it.Key); !ok {
				t.Fatalf("killed at write %d: %s is lost", n, it.Key)
			}
		}
		if _, err := fresh.Commit(t.Context(), owner, inventory.Change{Base: got, Next: inventory.New("", after)}); err != nil {
			t.Fatalf("repairing after write %d: %v", n, err)
		}
		got, err = (&shard.Store{Client: c, Namespace: ns}).Load(t.Context(), owner)
		if err != nil || !cmp.Equal(got.Items, inventory.New("", after).Items) {
			t.Fatalf("after repair: %v %d items", err, len(got.Items))
		}
		if !killed {
			t.Logf("a commit took %d writes", n)
			return
		}
	}
}
