package replication_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

var housed sync.Once

// newSharded is a world whose records move to shards when they take more than
// that many bytes.
func newSharded(t *testing.T, bytes int, last int64, after bool) *world {
	t.Helper()
	w := newWorld(t, -1, false)
	housed.Do(func() {
		n := &corev1.Namespace{}
		n.Name = "weir-system"
		if err := w.admin.Create(t.Context(), n); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	})
	w.bytes = bytes
	w.begin(last, after)
	return w
}

// shards returns the shards of the world's replication.
func (w *world) shards() []corev1.ConfigMap {
	w.Helper()
	var list corev1.ConfigMapList
	if err := w.admin.List(w.Context(), &list, client.InNamespace("weir-system"), client.HasLabels{"inventory.weir.dev/owner"}); err != nil {
		w.Fatal(err)
	}
	var out []corev1.ConfigMap
	for _, c := range list.Items {
		if strings.Contains(c.Annotations["inventory.weir.dev/owner"], "/"+w.namespace+"/") {
			out = append(out, c)
		}
	}
	return out
}

func (w *world) status() *v1beta2.GlobalTenantResourceStatus {
	w.Helper()
	var g v1beta2.GlobalTenantResource
	if err := w.admin.Get(w.Context(), client.ObjectKey{Name: w.namespace}, &g); err != nil {
		w.Fatal(err)
	}
	return &g.Status
}

// The story of [TestEndsAtEachWrite] with a record that is in shards all the
// time, and with one that moves there and back: whatever write is the last of a
// process, the next one ends where it would have, and leaves no shard behind.
func TestEndsAtEachWriteOfShards(t *testing.T) {
	for name, bytes := range map[string]int{"always": 1, "there and back": 1950} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSharded(t, bytes, -1, false)
			writes := play(w)
			if writes < 20 || writes > 70 {
				t.Errorf("the story takes %d writes", writes)
			}
			for last := int64(1); last <= writes; last++ {
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("%d, sent %t", last, after), func(t *testing.T) {
						t.Parallel()
						w := newSharded(t, bytes, last, after)
						play(w)
						if left := w.shards(); len(left) > 0 {
							t.Errorf("%d shards are left, the first is %v", len(left), left[0].ObjectMeta)
						}
					})
				}
			}
		})
	}
}

// A replication that moves to shards and back shows it, and its shards go with
// it, also if it cannot remove them.
func TestMoves(t *testing.T) {
	w := newSharded(t, 2400, -1, false)
	blocks := func(n int) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}}", i))
		}
		return "[{policy: {protect: false}, rawItems: [" + strings.Join(items, ", ") + "]}]"
	}
	for _, c := range []struct {
		targets int
		sharded bool
	}{{1, false}, {12, true}, {1, false}, {12, true}, {13, true}} {
		w.want(blocks(c.targets))
		w.pass()
		s := w.status()
		if is := s.Shards != nil; is != c.sharded || is != (len(w.shards()) > 0) || is == (len(s.Inventory) > 0) {
			t.Errorf("%d targets: %+v, %d shards, an inventory of %d bytes", c.targets, s.Shards, len(w.shards()), len(s.Inventory))
		}
		if s.Size != int64(c.targets) || s.Counts == nil || s.Counts.Ready != int64(c.targets) || !c.sharded && len(s.ProcessedItems) != c.targets {
			t.Errorf("%d targets: size %d, counts %+v, %d items", c.targets, s.Size, s.Counts, len(s.ProcessedItems))
		}
	}
	for _, c := range w.shards() {
		if o := c.OwnerReferences; len(o) != 1 || o[0].Kind != v1beta2.KindGlobalTenantResource || o[0].Name != w.namespace {
			t.Errorf("owners of a shard: %v", o)
		}
	}
}

// counted counts requests about what the controller's namespace has.
type counted struct {
	next          http.RoundTripper
	reads, writes *atomic.Int64
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/namespaces/weir-system/configmaps") {
		if r.Method == http.MethodGet {
			c.reads.Add(1)
		} else {
			c.writes.Add(1)
		}
	}
	return c.next.RoundTrip(r)
}

// An unchanged pass asks for no shard and writes none; a changed target costs one
// write.
func TestRequestsOfShards(t *testing.T) {
	w := newSharded(t, 1, -1, false)
	w.want(story[0].resources)
	w.pass()
	var reads, writes atomic.Int64
	w.config = rest.CopyConfig(w.config)
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, &reads, &writes} })
	w.begin(-1, false)
	w.pass()
	if reads.Load() != 1 || w.writes.Load() != 0 {
		t.Errorf("a new process reads %d times and writes %d times", reads.Load(), w.writes.Load())
	}
	w.pass()
	if reads.Load() != 1 || w.writes.Load() != 0 {
		t.Errorf("an unchanged pass reads %d times and writes %d times", reads.Load()-1, w.writes.Load())
	}
	var target corev1.ConfigMap
	if err := w.admin.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "created"}, &target); err != nil {
		t.Fatal(err)
	}
	if err := w.admin.Delete(t.Context(), &target); err != nil {
		t.Fatal(err)
	}
	w.pass()
	if reads.Load() != 1 || writes.Load() != 1 {
		t.Errorf("a target that is made anew costs %d reads and %d writes of shards", reads.Load()-1, writes.Load())
	}
}
