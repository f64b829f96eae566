package reconcilertest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/reconcilertest"
)

func web() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
}

// A recorder tells which calls an operator makes.
func ExampleRecorder() {
	var r reconcilertest.Recorder
	c := r.Client(fake.NewClientBuilder().Build())
	ctx := context.Background()

	_ = c.Get(ctx, client.ObjectKeyFromObject(web()), web())
	_ = c.Create(ctx, web(), client.DryRunAll)
	_ = c.Create(ctx, web())
	_ = c.Patch(ctx, web(), client.RawPatch(types.MergePatchType, []byte(`{"data":{"a":"1"}}`)))
	_ = c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("shop"))
	_ = c.Delete(ctx, web())

	for _, call := range r.Calls() {
		fmt.Println(call)
	}
	fmt.Println(len(r.Calls(reconcilertest.Writes)), "writes")
	// Output:
	// get ConfigMap shop/web (NotFound)
	// create ConfigMap shop/web dry-run
	// create ConfigMap shop/web
	// patch ConfigMap shop/web merge
	// list ConfigMap shop/
	// delete ConfigMap shop/web
	// 3 writes
}

func TestRecorderHooks(t *testing.T) {
	refused, lost := errors.New("refused"), errors.New("lost")
	r := reconcilertest.Recorder{
		Before: func(_ context.Context, c reconcilertest.Call) error {
			if c.Verb == "delete" {
				return refused
			}
			return nil
		},
		After: func(_ context.Context, c reconcilertest.Call) error {
			if c.Verb == "create" {
				return lost
			}
			return c.Err
		},
	}
	real := fake.NewClientBuilder().Build()
	c := r.Client(real)
	if err := c.Create(t.Context(), web()); !errors.Is(err, lost) {
		t.Errorf("the create says %v", err)
	}
	if err := c.Delete(t.Context(), web()); !errors.Is(err, refused) {
		t.Errorf("the delete says %v", err)
	}
	if err := real.Get(t.Context(), client.ObjectKeyFromObject(web()), web()); err != nil {
		t.Errorf("the object is not there: %v", err)
	}
	if calls := r.Calls(); len(calls) != 1 || calls[0].N != 1 {
		t.Errorf("the calls are %v", calls)
	}
	r.Reset()
	if calls := r.Calls(); len(calls) > 0 {
		t.Errorf("the calls are %v after a reset", calls)
	}
}

func TestRecorderPreconditions(t *testing.T) {
	var r reconcilertest.Recorder
	c := r.Client(fake.NewClientBuilder().Build())
	uid, version := types.UID("1"), "2"
	both := metav1.Preconditions{UID: &uid, ResourceVersion: &version}
	_ = c.Delete(t.Context(), web(), client.Preconditions(both))
	_ = c.Patch(t.Context(), web(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"uid":"1","resourceVersion":"2"}}`)))
	_ = c.Patch(t.Context(), web(), client.RawPatch(types.JSONPatchType,
		[]byte(`[{"op":"test","path":"/metadata/uid","value":"1"},{"op":"replace","path":"/metadata/resourceVersion","value":"2"}]`)))
	for _, call := range r.Calls() {
		p := call.Preconditions
		if p.UID == nil || *p.UID != uid || p.ResourceVersion == nil || *p.ResourceVersion != version {
			t.Errorf("%s is recorded with %v", call, p)
		}
	}
}

func TestRecorderStore(t *testing.T) {
	var r reconcilertest.Recorder
	s := r.Store(&inventory.Memory{})
	v, err := s.Load(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	next := inventory.New("", []inventory.Item{{Key: object.Key{Kind: "ConfigMap", Name: "x"}, State: inventory.Ready}})
	if _, err := s.Commit(t.Context(), "alice", inventory.Change{Base: v, Next: next}); err != nil {
		t.Fatal(err)
	}
	if calls := fmt.Sprint(r.Calls()); calls != "[load commit]" {
		t.Errorf("the calls are %s", calls)
	}
}
