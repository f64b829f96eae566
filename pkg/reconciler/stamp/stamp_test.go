package stamp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// R15: the published vectors.
func TestR15Hash(t *testing.T) {
	for id, want := range map[string]string{
		"o1": "enjnu4ua6hpmyowpdoue5okfzh6cw62ucckoduezfw772g3gmtga",
		"o":  "mxduyfngqymhxnv37gky6skpy24aa2adjjszvgwujgi3bdcy6lja",
	} {
		if got := stamp.Hash(id); got != want {
			t.Errorf("Hash(%q) = %q", id, got)
		}
	}
}

func TestRead(t *testing.T) {
	s := stamp.Prefix("op")
	mark := s.Mark("us", "d1")
	cases := map[string]struct {
		labels, annotations map[string]string
		want                stamp.Owner
	}{
		"ours":               {mark.Labels, mark.Annotations, stamp.Owner{Ours: true, Intact: true, Name: "us", Digest: "d1"}},
		"nobody":             {nil, nil, stamp.Owner{}},
		"R8 empty label":     {map[string]string{"op/owner-id": ""}, nil, stamp.Owner{}},
		"label stripped":     {nil, mark.Annotations, stamp.Owner{Lost: true, Digest: "d1"}},
		"annotation gone":    {mark.Labels, nil, stamp.Owner{Ours: true, Name: stamp.Hash("us")}},
		"other":              {s.Mark("them", "d").Labels, s.Mark("them", "d").Annotations, stamp.Owner{Name: "them", Digest: "d"}},
		"other, forged name": {s.Mark("them", "d").Labels, mark.Annotations, stamp.Owner{Name: stamp.Hash("them"), Digest: "d1"}},
	}
	for name, c := range cases {
		got := s.Read(&metav1.ObjectMeta{Labels: c.labels, Annotations: c.annotations}, "us")
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestPlainStampWithLabels(t *testing.T) {
	s := stamp.Stamp{Label: "generator", Plain: true, Labels: map[string]string{"managed-by": "weir"}}
	m := s.Mark("uid-1", "d")
	if d := cmp.Diff(stamp.Mark{Labels: map[string]string{"generator": "uid-1", "managed-by": "weir"}, Annotations: map[string]string{}}, m); d != "" {
		t.Error(d)
	}
	delete(m.Labels, "managed-by")
	if o := s.Read(&metav1.ObjectMeta{Labels: m.Labels}, "uid-1"); !o.Ours || o.Intact {
		t.Errorf("a stamp with a missing label reads as %+v", o)
	}
	if !s.Selector("uid-1").Matches(labels.Set(m.Labels)) || s.Foreign("uid-1").Matches(labels.Set(m.Labels)) {
		t.Error("the selectors are wrong")
	}
}
