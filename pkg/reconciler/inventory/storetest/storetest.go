// Package storetest tests implementations of inventory.Store. It tests what
// the interface says and nothing of how it is kept.
package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Run tests a store. Each call of open prepares an empty place; each call of
// what it returns opens that place as another process would.
func Run(t *testing.T, open func(t *testing.T) func() inventory.Store) {
	t.Run("empty", func(t *testing.T) { empty(t, open(t)) })
	t.Run("round trip", func(t *testing.T) { roundTrip(t, open(t)) })
	t.Run("conflict", func(t *testing.T) { conflict(t, open(t)) })
	t.Run("owners", func(t *testing.T) { owners(t, open(t)) })
}

// Items returns n items that use every field.
func Items(n int) []inventory.Item {
	items := make([]inventory.Item, n)
	for i := range items {
		items[i] = inventory.Item{
			Key:     object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: fmt.Sprintf("web-%03d", i)},
			Version: "v1", UID: "u1", ResourceVersion: "7", State: inventory.Ready, Created: true,
			Digest: "d", Owned: "o", At: metav1.NewTime(time.Unix(1_700_000_000, 0)), Takeovers: 1, Manager: "m",
			Policy:  policy.Policy{Delete: policy.Orphan, PurgeOrder: new(3), Hints: []string{policy.HintReadyCondition}},
			Types:   []policy.Type{{Group: "g", Kind: "*"}},
			Payload: map[string]string{"tenant": "solar"},
		}
	}
	return items
}

func load(t *testing.T, s inventory.Store, owner string, want []inventory.Item) inventory.Inventory {
	t.Helper()
	v, err := s.Load(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Items) != len(want) || len(want) > 0 && !cmp.Equal(want, v.Items) {
		t.Fatalf("loaded %d items: %s", len(v.Items), cmp.Diff(want, v.Items))
	}
	return v
}

func commit(t *testing.T, s inventory.Store, owner string, base inventory.Inventory, items []inventory.Item) inventory.Inventory {
	t.Helper()
	next := inventory.New("", items)
	v, err := s.Commit(t.Context(), owner, inventory.Change{Base: base, Next: next, Ahead: true})
	if err != nil {
		t.Fatal(err)
	}
	next.Version = v
	return next
}

func empty(t *testing.T, open func() inventory.Store) {
	s := open()
	base := load(t, s, "o", nil)
	base = commit(t, s, "o", base, nil)
	commit(t, s, "o", base, Items(1))
	load(t, open(), "o", Items(1))
}

func roundTrip(t *testing.T, open func() inventory.Store) {
	s := open()
	v := load(t, s, "o", nil)
	for _, n := range []int{1, 30, 60, 20, 0, 3} {
		v = commit(t, s, "o", v, Items(n))
		load(t, s, "o", Items(n))
		load(t, open(), "o", Items(n))
	}
}

func conflict(t *testing.T, open func() inventory.Store) {
	a, b := open(), open()
	base := commit(t, a, "o", load(t, a, "o", nil), Items(20))
	load(t, b, "o", Items(20))
	commit(t, a, "o", base, Items(30))
	stale := inventory.Change{Base: base, Next: inventory.New("", Items(25))}
	if _, err := b.Commit(t.Context(), "o", stale); !errors.Is(err, inventory.ErrConflict) {
		t.Fatalf("a stale commit returned %v", err)
	}
	commit(t, b, "o", load(t, b, "o", Items(30)), Items(25))
	load(t, open(), "o", Items(25))
}

func owners(t *testing.T, open func() inventory.Store) {
	s := open()
	commit(t, s, "a", load(t, s, "a", nil), Items(2))
	commit(t, s, "b", load(t, s, "b", nil), Items(3))
	load(t, open(), "a", Items(2))
	load(t, open(), "b", Items(3))
}
