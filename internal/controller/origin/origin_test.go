package origin_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-dev/weir/internal/controller/origin"
	"github.com/weir-dev/weir/internal/replicate"
)

// W4: a query is asked once, by however many blocks and destinations.
func TestFind(t *testing.T) {
	var mu sync.Mutex
	reads := 0
	count := func() { mu.Lock(); reads++; mu.Unlock() }
	object := func(namespace, name string, labels map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	}
	a := map[string]string{"a": "b"}
	r := &origin.Reader{Client: fake.NewClientBuilder().
		WithObjects(object("n", "one", a), object("n", "two", nil), object("m", "one", a)).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				count()
				return c.Get(ctx, k, o, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				count()
				return c.List(ctx, l, opts...)
			},
		}).Build()}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	for name, c := range map[string]struct {
		query replicate.Query
		want  int
		err   string
	}{
		"by name":              {replicate.Query{Namespace: "n", Name: "one"}, 1, ""},
		"R35 missing":          {replicate.Query{Namespace: "n", Name: "three"}, 0, ""},
		"R35 missing, refused": {replicate.Query{Namespace: "n", Name: "three", Required: true}, 0, "failed to get ConfigMap/three: "},
		"all of a namespace":   {replicate.Query{Namespace: "n"}, 2, ""},
		"everywhere":           {replicate.Query{Selector: "a=b"}, 2, ""},
		"a wrong selector":     {replicate.Query{Selector: "a=b=c"}, 0, "found '='"},
	} {
		t.Run(name, func(t *testing.T) {
			c.query.GroupVersionKind = kind
			reads = 0
			var wait sync.WaitGroup
			for range 4 {
				wait.Go(func() {
					got, err := r.Find(t.Context(), c.query)
					if len(got) != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
						t.Errorf("found %d, error %v", len(got), err)
					}
				})
			}
			wait.Wait()
			if reads > 1 {
				t.Errorf("%d reads", reads)
			}
		})
	}
	if got := r.Asked(); len(got) != 6 {
		t.Errorf("asked for %v", got)
	}
}
