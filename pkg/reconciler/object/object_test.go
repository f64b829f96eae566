package object_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/pkg/reconciler/object"
)

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: '1'}}\ndata: {k: v}\n"

var norm = object.Norm{Namespaced: true, Namespace: "shop", Labels: []string{"op/owner-id"}, Annotations: []string{"op/owner-id", "op/digest"}}

// What does and does not change a digest.
func TestDigest(t *testing.T) {
	base, err := norm.Digest(parse(t, configMap))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		text string
		same bool
	}{
		"R25 fields of the server": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: '1'}, resourceVersion: '7', generation: 3, managedFields: [], creationTimestamp: null, uid: u}\ndata: {k: v}", true},
		"R13 forged stamps":        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: '1', op/owner-id: z}, annotations: {op/digest: z}}\ndata: {k: v}", true},
		"default namespace":        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop, labels: {x: '1'}}\ndata: {k: v}", true},
		"R27 empty metadata":       {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: '1'}, annotations: {}}\ndata: {k: v}\nstatus: {}", true},
		"other namespace":          {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other, labels: {x: '1'}}\ndata: {k: v}", false},
		"R26 annotation":           {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: '1'}, annotations: {op/update-policy: replace}}\ndata: {k: v}", false},
		"data":                     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: '1'}}\ndata: {k: w}", false},
		"an empty map":             {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: '1'}}\ndata: {k: v}\nbinaryData: {}", false},
	}
	for name, c := range cases {
		u := parse(t, c.text)
		got, err := norm.Digest(u)
		if err != nil || (got == base) != c.same {
			t.Errorf("%s: %s, the base has %s (%v)", name, got, base, err)
		}
		if body, err := norm.Digest(norm.Body(u)); err != nil || body != got {
			t.Errorf("%s: the normal form has digest %s, the manifest %s (%v)", name, body, got, err)
		}
	}
}

func TestDigestIsNotFooled(t *testing.T) {
	for _, pair := range [][2]any{
		{map[string]any{"a": "1"}, map[string]any{"a": int64(1)}},
		{[]any{"a", "b"}, []any{"ab"}},
		{[]any{[]any{}, []any{}}, []any{[]any{[]any{}}}},
		{map[string]any{"a": nil}, map[string]any{}},
		{map[string]any{"a": true}, map[string]any{"a": "true"}},
	} {
		if object.Hash(pair[0]) == object.Hash(pair[1]) {
			t.Errorf("%v and %v have one hash", pair[0], pair[1])
		}
	}
	if object.Hash(int64(3)) != object.Hash(float64(3)) {
		t.Error("3 and 3.0 differ")
	}
}

// R85: stringData moves into data.
func TestR85StringData(t *testing.T) {
	u := parse(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {k: v}\ndata: {x: eA==, k: b2xk}\n")
	body := norm.Body(u)
	want := map[string]any{"x": "eA==", "k": "dg=="}
	if d := cmp.Diff(want, body.Object["data"]); d != "" || body.Object["stringData"] != nil || u.Object["stringData"] == nil {
		t.Error(d, body.Object, u.Object)
	}
}

// R82, R84: manifests that are refused.
func TestCheckRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"generateName":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-, name: b}",
		"no name":          "apiVersion: v1\nkind: ConfigMap\nmetadata: {}",
		"no metadata":      "apiVersion: v1\nkind: ConfigMap\nmetadata: 3",
		"label":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: 1}}",
		"annotation":       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {x: true}}",
		"annotations list": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: []}",
		"apiVersion":       "apiVersion: a/b/c\nkind: ConfigMap\nmetadata: {name: a}",
		"namespace":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: 4}",
	} {
		if err := object.Check(parse(t, text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if object.Check(nil) == nil || object.Check(&unstructured.Unstructured{}) == nil {
		t.Error("nothing is accepted")
	}
	bad := parse(t, configMap)
	bad.Object["data"] = map[string]any{"n": 1} // an int is no JSON value
	if _, err := norm.Digest(bad); err == nil {
		t.Error("a Go int is accepted")
	}
	bad.SetKind("Secret")
	bad.Object["stringData"] = map[string]any{}
	if _, err := norm.Digest(bad); err == nil {
		t.Error("a Go int is accepted in a secret")
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"x":"1"}},"data":{"k":"v"}}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"k":"v"},"data":null}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","annotations":null},"stringData":{"k":1},"data":[1.5]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		u := &unstructured.Unstructured{}
		if json.Unmarshal(data, &u.Object) != nil || object.Check(u) != nil {
			return
		}
		before := u.DeepCopy()
		digest, err := norm.Digest(u)
		if err != nil {
			return
		}
		if !cmp.Equal(before, u) {
			t.Fatal("the manifest was changed")
		}
		body := norm.Body(u)
		if again, err := norm.Digest(body); err != nil || again != digest {
			t.Fatalf("digest %s, of the normal form %s (%v)", digest, again, err)
		}
		if k := norm.KeyOf(u); k != object.KeyOf(body) {
			t.Fatalf("key %s, of the normal form %s", k, object.KeyOf(body))
		}
	})
}

func BenchmarkDigest(b *testing.B) {
	u := parse(b, configMap)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := norm.Digest(u); err != nil {
			b.Fatal(err)
		}
	}
}
