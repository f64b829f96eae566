package metadata_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/metadata"
)

// What metadata is refused for is among the cases of package recipe.

func TestLayers(t *testing.T) {
	base := metadata.Set{Labels: map[string]string{"a": "base", "b": "base"}}
	over := metadata.Set{Labels: map[string]string{"b": "over", "c": "over"}, Annotations: map[string]string{"n": "over"}}
	for name, c := range map[string]struct{ got, want metadata.Set }{
		"override": {base.Override(over), metadata.Set{
			Labels: map[string]string{"a": "base", "b": "over", "c": "over"}, Annotations: map[string]string{"n": "over"}}},
		"merge": {base.Merge(over), metadata.Set{
			Labels: map[string]string{"a": "base", "b": "base", "c": "over"}, Annotations: map[string]string{"n": "over"}}},
		"nothing":    {metadata.Set{}.Override(metadata.Set{}), metadata.Set{}},
		"of nothing": {metadata.Of(nil), metadata.Set{}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(metadata.Set{Labels: map[string]string{"a": "base", "b": "base"}}, base); diff != "" {
		t.Errorf("a layer changed (-want +got):\n%s", diff)
	}
}

func TestReservedLabelsCannotBeSet(t *testing.T) {
	forged := metadata.Set{Labels: map[string]string{v1beta1.LabelManagedBy: "me", v1beta1.LabelGenerator: "mine", "a": "b"}}
	for uid, want := range map[string]map[string]string{
		"":    {v1beta1.LabelManagedBy: metadata.Manager, "a": "b"},
		"uid": {v1beta1.LabelManagedBy: metadata.Manager, v1beta1.LabelGenerator: "uid", "a": "b"},
	} {
		if diff := cmp.Diff(want, forged.Stamped(uid).Labels); diff != "" {
			t.Errorf("with the UID %q (-want +got):\n%s", uid, diff)
		}
	}
}
