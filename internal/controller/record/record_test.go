package record_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/item"
	"github.com/weir-dev/weir/internal/controller/record"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

var at = metav1.NewTime(time.Date(2026, 8, 31, 10, 2, 13, 0, time.UTC))

// world is a status as the API server has it, and a store of shards. Both
// change only when they are written.
type world struct {
	*testing.T
	stored v1beta2.ReplicationStatus
	shards *memory
	keeper *record.Keeper

	writes int
	former inventory.Inventory // of who recorded items alone
}

// memory is a store of shards in a process that may be killed.
type memory struct {
	inventory.Memory
	left    int // writes until then, of a status too; negative: any
	commits int
	removed []string
}

var errKilled = errors.New("killed")

func (m *memory) spend() error {
	if m.left == 0 {
		return errKilled
	}
	m.left--
	return nil
}

func (m *memory) Commit(ctx context.Context, owner string, c inventory.Change) (string, error) {
	if err := m.spend(); err != nil {
		return "", err
	}
	m.commits++
	return m.Memory.Commit(ctx, owner, c)
}

func (m *memory) Owners(context.Context) ([]string, error) {
	return []string{"GlobalTenantResource//a/1", "TenantResource/n/b/2", "nonsense"}, nil
}

func (m *memory) Remove(ctx context.Context, owner string) error {
	if err := m.spend(); err != nil {
		return err
	}
	m.removed = append(m.removed, owner)
	v, err := m.Load(ctx, owner)
	if err != nil {
		return err
	}
	_, err = m.Memory.Commit(ctx, owner, inventory.Change{Base: v})
	return err
}

func newWorld(t *testing.T, bytes int) *world {
	w := &world{T: t, shards: &memory{left: -1}}
	w.keeper = &record.Keeper{Store: w.shards, Namespace: "weir-system", Bytes: bytes}
	return w
}

// pass is a record and the status that goes with it.
type pass struct {
	*world
	*record.Record
	status v1beta2.ReplicationStatus
	begun  bool
}

// pass opens the record as a process does that has just started.
func (w *world) pass() *pass {
	p := &pass{world: w, status: *w.stored.DeepCopy()}
	owner := record.Owner{Kind: v1beta2.KindGlobalTenantResource, Name: "profiles", UID: "u"}
	p.Record = w.keeper.Open(owner, &p.status, writer{p}, func() inventory.Inventory { return w.former })
	return p
}

// writer is what the record sees of a pass.
type writer struct{ *pass }

// Begin implements record.Writer.
func (w writer) Begin(ctx context.Context) error {
	if w.begun {
		return nil
	}
	w.begun = true
	return w.write(ctx)
}

// Record implements record.Writer.
func (w writer) Record(ctx context.Context) error { return w.write(ctx) }

func (p *pass) write(context.Context) error {
	if cmp.Equal(p.stored, p.status) {
		return nil
	}
	if err := p.shards.spend(); err != nil {
		return err
	}
	p.writes++
	p.stored = *p.status.DeepCopy()
	return nil
}

// targets returns n targets as an inventory and as items, with every field set.
func targets(n int) (inventory.Inventory, []v1beta2.ProcessedItem) {
	var is []inventory.Item
	var items []v1beta2.ProcessedItem
	for i := range n {
		k := object.Key{Group: "g", Kind: "K", Namespace: "n", Name: fmt.Sprintf("t-%03d", i)}
		is = append(is, inventory.Item{
			Key: k, Version: "v1", UID: "1", ResourceVersion: "2", State: inventory.Ready, Created: true, Digest: "d", Owned: "o",
			Policy: policy.Policy{Delete: policy.Orphan}, At: at, Takeovers: 1, Types: []policy.Type{{Group: "x", Kind: "Y"}}, Manager: "m",
			Payload: replicate.PayloadOf("solar", "0/raw-0"),
		})
		items = append(items, v1beta2.ProcessedItem{
			Tenant: "solar", Origin: "0/raw-0", Group: k.Group, Version: "v1", Kind: k.Kind, Namespace: k.Namespace, Name: k.Name,
			Status: v1beta2.ItemStatus{Type: "Ready", Status: metav1.ConditionTrue, Created: true, LastApply: &at, Policy: &v1beta2.Reconciled{
				Creation: v1beta2.CreationOwner, Protect: true, Deletion: v1beta2.DeletionRemove,
			}},
		})
	}
	return inventory.New("", is), items
}

var loose = cmp.Options{cmpopts.IgnoreFields(inventory.Inventory{}, "Version"), cmpopts.EquateEmpty()}

// holds checks what the next process finds.
func (w *world) holds(v inventory.Inventory, items []v1beta2.ProcessedItem) {
	w.Helper()
	p := w.pass()
	got, err := p.Load(w.Context(), "")
	if diff := cmp.Diff(v, got, loose); diff != "" || err != nil {
		w.Fatalf("inventory: error %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff(items, p.Items(), loose); diff != "" {
		w.Fatalf("items (-want +got):\n%s", diff)
	}
}

// play is a pass that brings the record to what is given: it records what is
// new ahead, and the rest at the end.
func (w *world) play(v inventory.Inventory, items []v1beta2.ProcessedItem) error {
	ctx := w.Context()
	p := w.pass()
	base, err := p.Load(ctx, "")
	if err != nil {
		return err
	}
	grown := inventory.New(base.Version, append(v.Items[:len(v.Items):len(v.Items)], base.Items...))
	if len(grown.Items) > len(base.Items) {
		version, err := p.Commit(ctx, "", inventory.Change{Base: base, Next: grown, Ahead: true})
		if err != nil {
			return err
		}
		base.Version = version
	}
	if len(base.Items) > 0 || len(v.Items) > 0 {
		if _, err := p.Commit(ctx, "", inventory.Change{Base: base, Next: v}); err != nil {
			return err
		}
	}
	if err := p.Close(ctx, v, items); err != nil {
		return errors.Join(err, p.write(ctx)) // as a pass does that failed
	}
	return p.write(ctx)
}

// R129, R132: a record is in the status as long as it fits, and then in shards;
// whatever the size, the next process has all of it.
func TestRecord(t *testing.T) {
	w := newWorld(t, 4<<10)
	for _, n := range []int{3, 8, 100, 101, 20, 7, 2, 50, 0} {
		v, items := targets(n)
		if err := w.play(v, items); err != nil {
			t.Fatal(err)
		}
		w.holds(v, items)
		s := &w.stored
		sharded := s.Shards != nil
		switch {
		case s.Size != int64(n) || s.Counts.Ready != int64(n):
			t.Errorf("%d: size %d, counts %+v", n, s.Size, s.Counts)
		case n > 20 && !sharded, n < 5 && sharded:
			t.Errorf("%d: shards %+v", n, s.Shards)
		case !sharded && len(s.ProcessedItems) != n:
			t.Errorf("%d: %d items in the status", n, len(s.ProcessedItems))
		case sharded && (len(s.Inventory) > 0 || len(s.ProcessedItems) == 0):
			t.Errorf("%d: inventory of %d bytes, %d items", n, len(s.Inventory), len(s.ProcessedItems))
		case record.Has(s) != (n > 0):
			t.Errorf("%d: has a record: %t", n, record.Has(s))
		}
		if _, size := item.Fit(s.ProcessedItems, 1<<20); size > 4<<10 {
			t.Errorf("%d: %d bytes of items", n, size)
		}
		writes, commits := w.writes, w.shards.commits
		p := w.pass()
		got, err := p.Load(t.Context(), "")
		if err == nil {
			err = p.Close(t.Context(), got, items)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.write(t.Context()); err != nil || w.writes != writes || w.shards.commits != commits {
			t.Errorf("%d: nothing changed, and is written; error %v", n, err)
		}
	}
}

// A target that was never written is in no inventory, and its item is kept. So
// is the state of a target that is about to be written again.
func TestItemsWithoutInventory(t *testing.T) {
	w := newWorld(t, 1)
	v, items := targets(3)
	v.Items = v.Items[1:]
	items[0].Status = v1beta2.ItemStatus{Type: "Ready", Status: metav1.ConditionFalse, Message: "no such kind"}
	if err := w.play(v, items); err != nil {
		t.Fatal(err)
	}
	w.holds(v, items)
}

// Wherever a process ends on the way from one record to another, the next one
// knows every target of both that may exist, and comes to the same end.
func TestKilled(t *testing.T) {
	for _, sizes := range [][2]int{{3, 50}, {50, 3}, {50, 60}, {50, 0}, {0, 50}, {3, 4}} {
		t.Run(fmt.Sprint(sizes), func(t *testing.T) {
			for last := 0; ; last++ {
				w := newWorld(t, 4<<10)
				before, was := targets(sizes[0])
				after, is := targets(sizes[1])
				if err := w.play(before, was); err != nil {
					t.Fatal(err)
				}
				w.shards.left = last
				err := w.play(after, is)
				killed := errors.Is(err, errKilled)
				if err != nil && !killed {
					t.Fatal(err)
				}
				w.shards.left = -1
				if v, err := w.pass().Load(t.Context(), ""); err != nil || len(v.Items) < min(sizes[0], sizes[1]) {
					t.Fatalf("killed at %d: %d items are left, error %v", last, len(v.Items), err)
				}
				if err := w.play(after, is); err != nil {
					t.Fatalf("killed at %d: %v", last, err)
				}
				w.holds(after, is)
				if w.stored.Shards == nil && sizes[0]+sizes[1] > 20 {
					if v, _ := w.shards.Load(t.Context(), "GlobalTenantResource//profiles/u"); len(v.Items) > 0 {
						t.Fatalf("killed at %d: %d items are left in shards", last, len(v.Items))
					}
				}
				if !killed {
					t.Logf("it takes %d writes", last)
					return
				}
			}
		})
	}
}

// Shards that are gone, or older than the status, are not believed.
func TestLost(t *testing.T) {
	w := newWorld(t, 1)
	v, items := targets(5)
	if err := w.play(v, items); err != nil {
		t.Fatal(err)
	}
	w.shards = &memory{left: -1}
	w.keeper.Store = w.shards
	_, err := w.pass().Load(t.Context(), "")
	fe, ok := fail.As(err)
	if !ok || fe.Class != fail.Wait || !strings.Contains(err.Error(), "take status.shards off") {
		t.Fatalf("error %v", err)
	}
	w.stored.Shards = nil // as the message says
	w.keeper.Bytes = 0
	if err := w.play(v, items); err != nil {
		t.Fatal(err)
	}
	w.holds(v, items)
}

// What others recorded as items alone is taken over with the first pass, and
// before that a replication must not go without its record.
func TestFormer(t *testing.T) {
	for _, bytes := range []int{0, 1} {
		w := newWorld(t, bytes)
		v, items := targets(5)
		w.former, w.stored.ProcessedItems = v, items
		if !record.Has(&w.stored) {
			t.Error("items that were applied are no record")
		}
		w.holds(v, items)
		if err := w.play(v, items); err != nil {
			t.Fatal(err)
		}
		w.former = inventory.Inventory{}
		w.holds(v, items)
	}
}

func TestSweep(t *testing.T) {
	w := newWorld(t, 1)
	err := w.keeper.Sweep(t.Context(), func(_ context.Context, o record.Owner) (bool, error) {
		if o.Name == "b" && (o.Namespace != "n" || o.Kind != v1beta2.KindTenantResource || o.UID != "2") {
			t.Errorf("owner %+v", o)
		}
		return o.Name == "b", nil
	})
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"TenantResource/n/b/2"}, w.shards.removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

func TestNoInventory(t *testing.T) {
	w := newWorld(t, 0)
	w.stored.Inventory = []byte("no gzip")
	if _, err := w.pass().Load(t.Context(), ""); err == nil {
		t.Error("a field that is no inventory is accepted")
	}
}
