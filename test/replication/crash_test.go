package replication_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func unstructuredOf(o map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: o}
}

// chapter is one wish of the user, and what the namespace has once it is
// granted.
type chapter struct {
	resources string // empty: the replication is deleted
	want      map[string]string
}

const (
	tracked = "map[projectcapsule.dev/created-by:resources projectcapsule.dev/managed-by:resources]"
	managed = "map[projectcapsule.dev/managed-by:resources]"
	none    = "map[]"
)

// story goes through all that can happen to a target: it is created, adopted,
// updated, skipped, pruned, given back, orphaned and deleted.
var story = []chapter{
	{
		`[{policy: {creation: Merge, protect: false}, rawItems: [
			{apiVersion: v1, kind: ConfigMap, metadata: {name: created}, data: {v: "1"}},
			{apiVersion: v1, kind: ConfigMap, metadata: {name: adopted}, data: {v: "1"}},
			{apiVersion: v1, kind: ConfigMap, metadata: {name: pruned}, data: {v: "1"}}]}]`,
		map[string]string{
			"created": "map[v:1] " + tracked, "adopted": "map[mine:1 v:1] " + managed, "pruned": "map[v:1] " + tracked, "kept": "map[mine:1] " + none,
		},
	},
	{
		`[{policy: {creation: Merge, protect: false, deletion: Orphan}, rawItems: [
			{apiVersion: v1, kind: ConfigMap, metadata: {name: created}, data: {v: "2"}},
			{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {v: "1"}}]},
		  {policy: {protect: false, condition: "object == null"}, rawItems: [
			{apiVersion: v1, kind: ConfigMap, metadata: {name: once}, data: {v: "1"}}]}]`,
		map[string]string{
			"created": "map[v:2] " + tracked, "adopted": "map[mine:1] " + none, "kept": "map[mine:1 v:1] " + managed, "once": "map[v:1] " + tracked,
		},
	},
	{
		`[{policy: {protect: false, condition: "object == null"}, rawItems: [
			{apiVersion: v1, kind: ConfigMap, metadata: {name: once}, data: {v: "2"}}]}]`,
		map[string]string{
			"created": "map[v:2] " + none, "adopted": "map[mine:1] " + none, "kept": "map[mine:1 v:1] " + none, "once": "map[v:1] " + tracked,
		},
	},
	{"", map[string]string{"created": "map[v:2] " + none, "adopted": "map[mine:1] " + none, "kept": "map[mine:1 v:1] " + none}},
}

// play plays the story and returns how many writes it took.
func play(w *world) int64 {
	for _, name := range []string{"adopted", "kept"} {
		w.put(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}, data: {mine: "1"}}`, name, w.namespace))
	}
	for i, c := range story {
		if c.resources == "" {
			w.remove()
		} else {
			w.want(c.resources)
		}
		w.pass()
		if diff := cmp.Diff(c.want, w.configMaps()); diff != "" {
			w.Errorf("chapter %d (-want +got):\n%s", i+1, diff)
		}
	}
	return w.writes.Load()
}

// Whatever write is the last of a process, sent or not, the next one ends where
// it would have, and nothing is lost, leaked or taken from others.
func TestEndsAtEachWrite(t *testing.T) {
	writes := play(newWorld(t, -1, false))
	if writes < 15 || writes > 40 {
		t.Errorf("the story takes %d writes", writes)
	}
	for last := int64(1); last <= writes; last++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, sent %t", last, after), func(t *testing.T) {
				t.Parallel()
				play(newWorld(t, last, after))
			})
		}
	}
}

// R71: when nothing changed nothing is written, not by a process that knows
// nothing either.
func TestR71Steady(t *testing.T) {
	w := newWorld(t, -1, false)
	w.put(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: adopted, namespace: %s}, data: {mine: "1"}}`, w.namespace))
	w.want(story[0].resources)
	w.pass()
	if n := w.writes.Load(); n > 7 {
		t.Errorf("three targets take %d writes, want the finalizer, two of status, one for each, and one to find out that one is there", n)
	}
	for range 3 {
		w.begin(-1, false)
		for range 2 {
			w.pass()
		}
		if n := w.writes.Load(); n > 0 {
			t.Errorf("%d writes when nothing changed", n)
		}
	}
}
