package sight

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// What a change means to somebody is tested here without a cluster; that
// changes arrive is tested by the scripts of package replication.
func TestInterest(t *testing.T) {
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	at := func(namespace, name, version string, labels map[string]string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: version, Labels: labels}
	}
	a := map[string]string{"a": "b"}
	for name, c := range map[string]struct {
		query       replicate.Query
		was, now    *metav1.ObjectMeta
		gone        bool
		reads, owns bool
	}{
		"by name":                 {query: replicate.Query{Namespace: "n", Name: "x"}, now: at("n", "x", "2", nil), reads: true},
		"another name":            {query: replicate.Query{Namespace: "n", Name: "y"}, now: at("n", "x", "2", nil)},
		"another namespace":       {query: replicate.Query{Namespace: "m", Name: "x"}, now: at("n", "x", "2", nil)},
		"selected":                {query: replicate.Query{Selector: "a=b"}, now: at("n", "x", "2", a), reads: true},
		"not selected":            {query: replicate.Query{Selector: "a=b"}, now: at("n", "x", "2", nil)},
		"no longer selected":      {query: replicate.Query{Selector: "a=b"}, was: at("n", "x", "1", a), now: at("n", "x", "2", nil), reads: true},
		"deleted":                 {query: replicate.Query{Namespace: "n", Name: "x"}, now: at("n", "x", "2", nil), gone: true, reads: true},
		"another kind":            {query: replicate.Query{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}, now: at("n", "x", "2", nil)},
		"a target":                {now: at("n", "target", "8", nil), owns: true},
		"a target, as we know it": {now: at("n", "target", "7", nil)},
		"a target that is gone":   {now: at("n", "target", "7", nil), gone: true, owns: true},
	} {
		t.Run(name, func(t *testing.T) {
			i := Interest{Targets: map[schema.GroupVersionKind]map[object.Key]string{
				secret: {{Kind: "Secret", Namespace: "n", Name: "target"}: "7"},
			}}
			if c.query != (replicate.Query{}) {
				if c.query.Kind == "" {
					c.query.GroupVersionKind = secret
				}
				i.Sources = []replicate.Query{c.query}
			}
			if c.was == nil {
				c.was = c.now
			}
			ch := change{gvk: secret, was: c.was, now: c.now, gone: c.gone}
			if i.reads(ch) != c.reads || i.has(ch) != c.owns {
				t.Errorf("reads %t, has %t", i.reads(ch), i.has(ch))
			}
		})
	}
}
