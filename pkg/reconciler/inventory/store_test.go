package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/inventory/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) func() inventory.Store {
		m := &inventory.Memory{}
		return func() inventory.Store { return m }
	})
}

func TestNewKeepsTheLastOfEqualKeys(t *testing.T) {
	a, b := storetest.Items(1)[0], storetest.Items(1)[0]
	b.State = inventory.Leaving
	if got := inventory.New("", []inventory.Item{a, b}).Items; len(got) != 1 || got[0].State != inventory.Leaving {
		t.Errorf("got %+v", got)
	}
}

func FuzzDecode(f *testing.F) {
	good, err := inventory.Encode(storetest.Items(3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("not gzip"))
	f.Fuzz(func(t *testing.T, data []byte) {
		items, err := inventory.Decode(data)
		if err != nil {
			return
		}
		again, err := inventory.Encode(items)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := inventory.Decode(again)
		if err != nil || !cmp.Equal(items, twice) {
			t.Fatalf("%v: %s", err, cmp.Diff(items, twice))
		}
	})
}
