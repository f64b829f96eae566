package set_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/internal/set"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

func rules() set.Rules {
	return set.Rules{
		Name: "op", Norm: object.Norm{Namespace: "shop"},
		Defaults: policy.Policy{Adoption: policy.AdoptIfUnowned, Reconcile: policy.OnObjectChange, Update: policy.Replace, Delete: policy.DeleteAlways},
		Namespaced: func(gvk schema.GroupVersionKind) (bool, bool, error) {
			switch gvk.Kind {
			case "Namespace", "CustomResourceDefinition", "ClusterRole", "APIService", "StorageClass":
				return false, true, nil
			case "Foo", "Bar":
				return false, false, nil
			case "Broken":
				return false, false, errors.New("discovery is down")
			}
			return true, true, nil
		},
		Before: func(gk schema.GroupKind) (bool, bool) { return false, gk.Kind == "Bar" },
	}
}

// entries parses lines of the form: apiVersion Kind [namespace/]name [JSON].
func entries(t testing.TB, lines ...string) []set.Entry {
	t.Helper()
	var all []set.Entry
	for _, line := range lines {
		f := strings.SplitN(line, " ", 4)
		u := &unstructured.Unstructured{Object: map[string]any{}}
		if len(f) == 4 {
			if err := yaml.Unmarshal([]byte(f[3]), &u.Object); err != nil {
				t.Fatal(err)
			}
		}
		u.SetAPIVersion(f[0])
		u.SetKind(f[1])
		ns, name, ok := strings.Cut(f[2], "/")
		if !ok {
			ns, name = "", f[2]
		}
		u.SetName(name)
		if ns != "" {
			u.SetNamespace(ns)
		}
		all = append(all, set.Entry{Manifest: u})
	}
	return all
}

const (
	crd = `apiextensions.k8s.io/v1 CustomResourceDefinition foos.ex.org {"spec":{"group":"ex.org","scope":"Namespaced","names":{"kind":"Foo"}}}`
	api = `apiregistration.k8s.io/v1 APIService v1.bar.org {"spec":{"group":"bar.org","version":"v1"}}`
)

// R88, R89: the order within one wave, and waves before that.
func TestR88Order(t *testing.T) {
	wants, err := set.New(entries(t,
		"bar.org/v1 Bar b", "ex.org/v1 Foo f", api, "apps/v1 Deployment d",
		"rbac.authorization.k8s.io/v1 RoleBinding rb", "v1 ConfigMap second", "v1 ConfigMap first",
		"rbac.authorization.k8s.io/v1 Role r", crd, "v1 Namespace n",
		`v1 ConfigMap early {"metadata":{"annotations":{"op/apply-order":"-1"}}}`,
	), rules())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range wants {
		got = append(got, w.Name)
	}
	want := []string{"early", "n", "r", "foos.ex.org", "rb", "second", "first", "d", "v1.bar.org", "b", "f"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, w := range wants {
		if w.Kind == "Foo" && (!w.Untyped || w.Namespace != "shop") {
			t.Errorf("the scope of the definition is not used: %+v", w.Key)
		}
	}
}

func TestR83Namespaces(t *testing.T) {
	wants, err := set.New(entries(t, "v1 ConfigMap a", "v1 ConfigMap other/a", "rbac.authorization.k8s.io/v1 ClusterRole x/b"), rules())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, w := range wants {
		got[w.String()] = true
	}
	for _, k := range []string{"ConfigMap shop/a", "ConfigMap other/a", "ClusterRole.rbac.authorization.k8s.io b"} {
		if !got[k] {
			t.Errorf("%s is missing in %v", k, got)
		}
	}
}

// Each set is refused with one error for each bad object.
func TestRefused(t *testing.T) {
	cases := map[string]struct {
		lines []string
		want  []string
	}{
		"R82 twice":                {[]string{"v1 ConfigMap a", "v1 ConfigMap shop/a", "v1 ConfigMap b"}, []string{"ConfigMap shop/a: the set holds the object twice"}},
		"R77 annotation":           {[]string{`v1 ConfigMap a {"metadata":{"annotations":{"op/delete-policy":"x"}}}`}, []string{`ConfigMap a: annotation "op/delete-policy": value "x" is unknown`}},
		"R80 purge order":          {[]string{`v1 Namespace a {"metadata":{"annotations":{"op/purge-order":"1"}}}`}, []string{"Namespace a: a purge order is not allowed for this kind"}},
		"R86 scope":                {[]string{strings.Replace(crd, "Namespaced", "Bogus", 1), "ex.org/v1 Foo a"}, []string{"CustomResourceDefinition.apiextensions.k8s.io foos.ex.org: spec.group, spec.names.kind or spec.scope is missing or wrong"}},
		"R90 instance before kind": {[]string{crd, `ex.org/v1 Foo a {"metadata":{"annotations":{"op/apply-order":"-1"}}}`}, []string{"Foo.ex.org shop/a: it must be applied no earlier and deleted no later than CustomResourceDefinition.apiextensions.k8s.io foos.ex.org"}},
		"R90 content after space":  {[]string{"v1 Namespace shop", `v1 ConfigMap a {"metadata":{"annotations":{"op/delete-order":"1"}}}`}, []string{"ConfigMap shop/a: it must be applied no earlier and deleted no later than Namespace shop"}},
		"empty":                    {[]string{"v1 ConfigMap /"}, []string{"ConfigMap : object 0: metadata is missing or is not a map"}},
	}
	for name, c := range cases {
		_, err := set.New(entries(t, c.lines...), rules())
		if _, ok := errors.AsType[*fault.Invalid](err); !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(strings.Join(c.want, "\n"), err.Error()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// What the server cannot tell about one kind does not concern the others, and
// the kind keeps the scope that it had.
func TestUnknownKinds(t *testing.T) {
	wants, err := set.New(entries(t, "x/v1 Broken a", "v1 ConfigMap b", "x/v1 Bar c", "x/v1 Foo d"), rules())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wants {
		switch {
		case (w.Err != nil) != (w.Kind == "Broken"):
			t.Errorf("%s: %v", w.Key, w.Err)
		case w.Untyped != (w.Kind != "ConfigMap"):
			t.Errorf("%s is unknown: %v", w.Key, w.Untyped)
		case (w.Namespace == "") != (w.Kind == "Bar"):
			t.Errorf("%s has the wrong scope", w.Key)
		}
	}
}

func TestDigests(t *testing.T) {
	digest := func(annotations, component string) string {
		r := rules()
		r.Component = component
		wants, err := set.New(entries(t, fmt.Sprintf(`v1 ConfigMap a {"metadata":{"annotations":{%s}}}`, annotations)), r)
		if err != nil {
			t.Fatal(err)
		}
		return wants[0].Digest
	}
	const both, once = `"op/reconcile-policy":"on-object-or-component-change"`, `"op/reconcile-policy":"once"`
	if digest("", "1") != digest("", "2") {
		t.Error("R17: the component changes the digest")
	}
	if digest(both, "1") == digest(both, "2") {
		t.Error("R19: the component does not change the digest")
	}
	if digest(once, "1") != digest(once+`,"x":"y"`, "2") {
		t.Error("R20: the digest of an object that is written once changes")
	}
}

func FuzzNew(f *testing.F) {
	f.Add(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"op/apply-order":"1"}}}`)
	f.Add(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a"},"spec":{"group":"g","scope":"Cluster","names":{"kind":"K"}}}`)
	f.Add(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"a"},"spec":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		u := &unstructured.Unstructured{}
		if yaml.Unmarshal([]byte(text), &u.Object) != nil {
			return
		}
		two := append(entries(t, crd, "v1 Namespace shop"), set.Entry{Manifest: u})
		wants, err := set.New(two, rules())
		if err != nil {
			return
		}
		for _, w := range wants {
			w.Body()
		}
	})
}
