package item

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// State is how a target is, in one word for users.
type State string

// The states, in the order in which they matter.
const (
	Failed  State = "failed"
	Leaving State = "leaving"
	Skipped State = "skipped"
	Ready   State = "ready"
)

// States returns all states, those first that matter most.
func States() []State { return []State{Failed, Leaving, Skipped, Ready} }

// StateOf returns the state of a target.
func StateOf(it *v1beta2.ProcessedItem) State {
	switch {
	case it.Status.Status == metav1.ConditionFalse:
		return Failed
	case it.Status.Status == metav1.ConditionUnknown:
		return Leaving
	case it.Status.Message == v1beta2.MessageSkipped:
		return Skipped
	}
	return Ready
}

// Count returns how many items are in which state.
func Count(items []v1beta2.ProcessedItem) v1beta2.Counts {
	var c v1beta2.Counts
	of := map[State]*int64{Failed: &c.Failed, Leaving: &c.Leaving, Skipped: &c.Skipped, Ready: &c.Ready}
	for i := range items {
		*of[StateOf(&items[i])]++
	}
	return c
}

// Excerpt returns as many of the items as fit into that many bytes of a status.
// When not all fit, the failing ones come first, and otherwise they keep their
// order.
func Excerpt(items []v1beta2.ProcessedItem, most int) []v1beta2.ProcessedItem {
	if n, _ := Fit(items, most); n == len(items) {
		return items
	}
	var sorted []v1beta2.ProcessedItem
	for _, s := range States() {
		for i := range items {
			if StateOf(&items[i]) == s {
				sorted = append(sorted, items[i])
			}
		}
	}
	n, _ := Fit(sorted, most)
	return slices.Clip(sorted[:n])
}

// Fit returns how many of the first items fit into that many bytes of a status,
// and how many bytes they take.
func Fit(items []v1beta2.ProcessedItem, most int) (n, bytes int) {
	for n = range items {
		data, err := json.Marshal(&items[n])
		if err != nil || bytes+len(data)+1 > most { // a comma is between two
			return n, bytes
		}
		bytes += len(data) + 1
	}
	return len(items), bytes
}
