package record_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/internal/controller/record"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// items have every field set, so that one that is lost is seen.
func items() []inventory.Item {
	return []inventory.Item{{
		Key: object.Key{Group: "g", Kind: "K", Namespace: "n", Name: "a"}, Version: "v1", UID: "1", ResourceVersion: "2",
		State: inventory.Ready, Created: true, Digest: "d", Owned: "o", Policy: policy.Policy{Delete: policy.Orphan},
		At: metav1.Unix(1788170533, 0), Takeovers: 1, Types: []policy.Type{{Group: "x", Kind: "Y"}}, Manager: "m",
		Payload: map[string]string{"tenant": "t"},
	}}
}

func TestStore(t *testing.T) {
	var data []byte
	writes, refuse := 0, error(nil)
	s := &record.Store{Data: &data, Write: func(context.Context) error { writes++; return refuse }}
	v, err := s.Load(t.Context(), "")
	if err != nil || len(v.Items) != 0 {
		t.Fatalf("an empty field holds %v, error %v", v, err)
	}
	next := inventory.New("", items())
	if _, err := s.Commit(t.Context(), "", inventory.Change{Base: v, Next: next}); err != nil || writes != 0 || data != nil {
		t.Errorf("the last commit writes %d times, error %v", writes, err)
	}
	if _, err := s.Commit(t.Context(), "", inventory.Change{Base: v, Next: next, Ahead: true}); err != nil || writes != 1 {
		t.Errorf("a commit ahead writes %d times, error %v", writes, err)
	}
	got, err := s.Load(t.Context(), "")
	if diff := cmp.Diff(items(), got.Items); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	again, err := record.Data(got)
	if diff := cmp.Diff(data, again); diff != "" || err != nil {
		t.Error("the same inventory is not the same field")
	}
	refuse = errors.New("conflict")
	if _, err := s.Commit(t.Context(), "", inventory.Change{Next: next, Ahead: true}); !errors.Is(err, refuse) || !errors.Is(s.Err, refuse) {
		t.Errorf("error %v, kept %v", err, s.Err)
	}
	if data, err := record.Data(inventory.Inventory{}); data != nil || err != nil {
		t.Errorf("an empty inventory is %v, error %v", data, err)
	}
	if _, err := record.Open([]byte("no gzip")); err == nil {
		t.Error("a field that is no inventory is accepted")
	}
}
