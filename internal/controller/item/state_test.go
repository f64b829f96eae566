package item_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/item"
)

// inState returns an item in that state.
func inState(s item.State, n int) v1beta2.ProcessedItem {
	it := v1beta2.ProcessedItem{Kind: "ConfigMap", Name: fmt.Sprintf("%s-%d", s, n), Status: v1beta2.ItemStatus{Type: "Ready", Status: metav1.ConditionTrue}}
	switch s {
	case item.Failed:
		it.Status.Status, it.Status.Message = metav1.ConditionFalse, "denied"
	case item.Leaving:
		it.Status.Status = metav1.ConditionUnknown
	case item.Skipped:
		it.Status.Message = v1beta2.MessageSkipped
	case item.Ready:
	}
	return it
}

func TestExcerpt(t *testing.T) {
	var items []v1beta2.ProcessedItem
	for n := range 10 {
		for _, s := range slices.Backward(item.States()) {
			items = append(items, inState(s, n))
		}
	}
	if diff := cmp.Diff(v1beta2.Counts{Ready: 10, Failed: 10, Skipped: 10, Leaving: 10}, item.Count(items)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	all, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	for most := range len(all) + 2 {
		got := item.Excerpt(items, most)
		_, size := item.Fit(got, most)
		data, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if size > most || len(got) > 0 && len(data) > size+1 {
			t.Fatalf("of at most %d bytes %d are counted and %d used", most, size, len(data))
		}
		if len(got) == len(items) {
			if diff := cmp.Diff(items, got); diff != "" {
				t.Fatalf("items that all fit (-want +got):\n%s", diff)
			}
			continue
		}
		for i := range got {
			want := inState(item.States()[i/10], i%10)
			if got[i].Name != want.Name {
				t.Fatalf("of at most %d bytes item %d is %s, want %s", most, i, got[i].Name, want.Name)
			}
		}
	}
	if n, _ := item.Fit(items, len(all)); n != len(items) {
		t.Errorf("%d of %d items fit into the size of all", n, len(items))
	}
}
