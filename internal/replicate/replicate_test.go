package replicate_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/internal/target"
	"github.com/weir-dev/weir/internal/template"
	"github.com/weir-dev/weir/internal/tenant"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

var update = flag.Bool("update", false, "rewrite what is wanted in testdata")

var noon = time.Date(2026, 8, 31, 12, 0, 0, 0, time.UTC)

// Each archive is a replication (spec; home is the namespace of a
// TenantResource), a cluster and what it wants: the targets and the failures.
func TestTargets(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("found no cases, error %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			got := newWorld(t, files).wants(t.Context())
			if *update {
				archive.Files = append(slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" }),
					txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(files["want"], got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// world is a cluster in a file, and a replication in it.
type world struct {
	spec struct {
		v1beta2.GlobalTenantResourceSpec
		Home string `json:"home"`
	}
	objects []*unstructured.Unstructured
	tenants []tenant.Tenant
	realm   *replicate.Realm
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{}
	if err := yaml.UnmarshalStrict([]byte(files["spec"]), &w.spec); err != nil {
		t.Fatal(err)
	}
	members := map[string][]tenant.Namespace{}
	for doc := range strings.SplitSeq(files["cluster"], "---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(doc), &u.Object); err != nil {
			t.Fatal(err)
		}
		w.objects = append(w.objects, u)
		see := func() map[string]any { return u.Object }
		switch u.GetKind() {
		case "Tenant":
			w.tenants = append(w.tenants, tenant.Tenant{Name: u.GetName(), Labels: u.GetLabels(), Object: see})
		case "Namespace":
			of, err := tenant.Of(u)
			if err != nil {
				t.Fatal(err)
			}
			members[of] = append(members[of], tenant.Namespace{
				Name: u.GetName(), Labels: u.GetLabels(), Terminating: u.GetDeletionTimestamp() != nil, Object: see,
			})
		}
	}
	w.tenants = tenant.Group(w.tenants, members)
	w.realm = &replicate.Realm{Home: w.spec.Home, Namespaced: namespaced}
	if w.spec.Home == "" {
		var err error
		if w.tenants, err = tenant.Select(w.tenants, &w.spec.TenantSelector); err != nil {
			t.Fatal(err)
		}
		return w
	}
	i := slices.IndexFunc(w.tenants, func(t tenant.Tenant) bool { return t.Has(w.spec.Home) })
	w.tenants = w.tenants[i : i+1]
	w.realm.Tenant = &w.tenants[0]
	return w
}

func namespaced(gvk schema.GroupVersionKind) (namespaced, known bool, err error) {
	switch gvk.Kind {
	case "ConfigMap", "Secret", "RoleBinding", "Deployment":
		return true, true, nil
	case "Namespace", "ClusterRole", "Tenant":
		return false, true, nil
	}
	return false, false, nil
}

// read answers a query.
func (w *world) read(q replicate.Query) ([]*unstructured.Unstructured, error) {
	s, err := labels.Parse(q.Selector)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, o := range w.objects {
		if o.GroupVersionKind() == q.GroupVersionKind && (q.Namespace == "" || o.GetNamespace() == q.Namespace) &&
			(q.Name == "" || o.GetName() == q.Name) && s.Matches(labels.Set(o.GetLabels())) {
			out = append(out, o)
		}
	}
	if q.Required && out == nil {
		return nil, fmt.Errorf("failed to get %s/%s: not found", q.Kind, q.Name)
	}
	return out, nil
}

func (w *world) render(ctx context.Context, b *replicate.Block, d target.Destination) ([]replicate.Piece, error) {
	in := replicate.Input{Destination: d, Now: noon, Context: map[string][]*unstructured.Unstructured{}}
	sources, err := b.Sources(d, w.realm)
	if err != nil {
		return nil, err
	}
	for _, q := range sources {
		found, err := w.read(q)
		if err != nil {
			return nil, err
		}
		in.Sources = append(in.Sources, found)
	}
	if in.Asked, err = b.Context(d, w.realm); err != nil {
		return nil, err
	}
	for index, q := range in.Asked {
		if in.Context[index], err = w.read(q); err != nil {
			return nil, err
		}
	}
	in.Replication = map[string]any{"name": "test"}
	return b.Render(ctx, in)
}

// wants returns the targets and failures as text.
func (w *world) wants(ctx context.Context) string {
	var out strings.Builder
	var failures []*replicate.Failure
	var pieces []replicate.Piece
	blocks, errs := replicate.Compile(&w.spec.ReplicationSpec, template.Limits{})
	for i, b := range blocks {
		if errs[i] != nil {
			failures = append(failures, &replicate.Failure{Block: i, All: true, Err: errs[i]})
			continue
		}
		for _, d := range target.Of(w.spec.Scope, w.tenants, b.Namespaces) {
			ps, err := w.render(ctx, b, d)
			if err != nil {
				failures = append(failures, &replicate.Failure{Block: i, Destination: d, Err: err})
			}
			pieces = append(pieces, ps...)
		}
	}
	targets, more := replicate.Assemble(pieces, w.realm)
	for _, t := range targets {
		fmt.Fprintf(&out, "--- %s: %s %s %+v", t.Key, t.Tenant, strings.Join(t.Renders, " "), t.Policy)
		if t.Condition != nil {
			out.WriteString(" conditional")
		}
		if t.Seen != nil {
			fmt.Fprintf(&out, " seen %q", *t.Seen)
		}
		text, err := yaml.Marshal(t.Manifest.Object)
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&out, "\n%s", text)
	}
	for _, f := range append(failures, more...) {
		fmt.Fprintf(&out, "!!! %v\n", f)
	}
	return out.String()
}

// R58: the manager of a target is always the same, differs between replications
// and targets, is known as one of the family and fits the API server.
func TestR58Manager(t *testing.T) {
	key := object.Key{Kind: "ConfigMap", Namespace: "solar-a", Name: "profile"}
	other := key
	other.Namespace = "solar-b"
	long := strings.Repeat("x", 253)
	seen := map[string]bool{}
	for _, m := range []string{
		replicate.Manager("", "profile", key), replicate.Manager("", "profile", other), replicate.Manager("solar-a", "profile", key),
		replicate.Manager("", long, key), replicate.Manager("", long+"y", key), replicate.Manager(long[:63], long, key),
	} {
		if len(m) > 128 || seen[m] || !replicate.IsManager(m) {
			t.Errorf("manager %q has %d bytes, seen %t", m, len(m), seen[m])
		}
		seen[m] = true
	}
	if got, want := replicate.Manager("", "profile", key), "projectcapsule.dev/resource/gtr/profile/tbembmfl34yptk5g"; got != want {
		t.Errorf("the manager of an existing target is %q now, and was %q", got, want)
	}
	for manager, want := range map[string]bool{
		"3bzzrpaonu5zb/solar-a/solar/0/raw-1/":                         true,
		"2elz2dfz41umt//None/replica/":                                 true,
		"projectcapsule.dev/resource/resourcepermit/1":                 true,
		"projectcapsule.dev/resource/controller":                       false,
		replicate.Lifecycle + "-released":                              false,
		"kubectl-client-side-apply":                                    false,
		"kube-controller-manager":                                      false,
		"example.org/a/b/c":                                            false,
		"projectcapsule.dev/something":                                 false,
		"averyveryverylongmanager/with/a/trailing/slash/0/raw-0/":      false,
		"projectcapsule.dev/resource/tr/solar-a/profile/abcdefgh23456": true,
	} {
		if got := replicate.IsManager(manager); got != want {
			t.Errorf("%q is of the family: %t", manager, got)
		}
	}
}

// D11, R65: what Capsule wrote is read as ours, and kept where it stands.
func TestFamily(t *testing.T) {
	f := replicate.Family()
	for name, c := range map[string]struct {
		live    map[string]string
		created bool
		want    map[string]string
	}{
		"nothing": {nil, false, map[string]string{v1beta2.LabelManagedBy: "resources"}},
		"ours":    {map[string]string{v1beta2.LabelCreatedBy: "resources"}, true, map[string]string{v1beta2.LabelCreatedBy: "resources", v1beta2.LabelManagedBy: "resources"}},
		"Capsule's": {
			map[string]string{v1beta2.LabelCreatedBy: "replications", v1beta2.LabelManagedBy: "replications"}, true,
			map[string]string{v1beta2.LabelCreatedBy: "replications", v1beta2.LabelManagedBy: "replications"},
		},
		"legacy": {map[string]string{v1beta2.LabelResources: "x"}, true, map[string]string{v1beta2.LabelCreatedBy: "resources", v1beta2.LabelManagedBy: "resources"}},
		"forged": {map[string]string{v1beta2.LabelCreatedBy: "me", v1beta2.LabelManagedBy: "me"}, false, map[string]string{v1beta2.LabelManagedBy: "resources"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{}}
			u.SetLabels(c.live)
			if got := f.IsCreated(u); got != c.created {
				t.Errorf("created is %t", got)
			}
			if diff := cmp.Diff(c.want, f.Mark(c.created, nil, c.live).Labels); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHolds(t *testing.T) {
	a := target.Destination{Tenant: &tenant.Tenant{Name: "t"}, Namespace: &tenant.Namespace{Name: "a"}}
	item := func(namespace, tenant string) *inventory.Item {
		return &inventory.Item{
			Key:     object.Key{Kind: "K", Namespace: namespace, Name: "n"},
			Payload: (&replicate.Target{Tenant: tenant, Blocks: []int{0, 1}}).Payload(),
		}
	}
	for name, c := range map[string]struct {
		failure replicate.Failure
		item    *inventory.Item
		want    bool
	}{
		"R50 the same namespace":   {replicate.Failure{Destination: a}, item("a", "t"), true},
		"another namespace":        {replicate.Failure{Destination: a}, item("b", "t"), false},
		"cluster-scoped":           {replicate.Failure{Destination: a}, item("", "t"), true},
		"the same tenant":          {replicate.Failure{Destination: target.Destination{Tenant: a.Tenant}}, item("x", "t"), true},
		"another tenant":           {replicate.Failure{Destination: target.Destination{Tenant: a.Tenant}}, item("x", "u"), false},
		"everything":               {replicate.Failure{All: true}, item("x", "u"), true},
		"the scope None":           {replicate.Failure{}, item("x", "None"), true},
		"the object":               {replicate.Failure{Destination: a, Key: item("a", "").Key}, item("a", "t"), true},
		"the object, as it may be": {replicate.Failure{Destination: a, Key: item("a", "").Key}, item("", "t"), true},
		"another object":           {replicate.Failure{Destination: a, Key: object.Key{Kind: "K", Namespace: "a", Name: "m"}}, item("a", "t"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := replicate.Holds([]*replicate.Failure{&c.failure}, c.item); (got != nil) != c.want {
				t.Errorf("held by %v", got)
			}
		})
	}
}

// A target that a failing block used to render too is left as it is.
func TestWithhold(t *testing.T) {
	a := target.Destination{Tenant: &tenant.Tenant{Name: "t"}, Namespace: &tenant.Namespace{Name: "a"}}
	both := replicate.Target{Key: object.Key{Kind: "K", Namespace: "a", Name: "both"}, Tenant: "t", Blocks: []int{0, 1}}
	one := replicate.Target{Key: object.Key{Kind: "K", Namespace: "a", Name: "one"}, Tenant: "t", Blocks: []int{0}}
	v := inventory.New("", []inventory.Item{{Key: both.Key, Payload: both.Payload()}, {Key: one.Key, Payload: one.Payload()}})
	now := []replicate.Target{both, one}
	now[0].Blocks = []int{0}
	for name, c := range map[string]struct {
		failures []*replicate.Failure
		want     int
	}{
		"nothing fails":     {nil, 2},
		"the other block":   {[]*replicate.Failure{{Block: 1, Destination: a}}, 1},
		"a third block":     {[]*replicate.Failure{{Block: 2, Destination: a}}, 2},
		"all blocks":        {[]*replicate.Failure{{Block: -1, All: true}}, 1},
		"an object of it":   {[]*replicate.Failure{{Block: 1, Destination: a, Key: one.Key}}, 2},
		"another namespace": {[]*replicate.Failure{{Block: 1, Destination: target.Destination{Tenant: a.Tenant, Namespace: &tenant.Namespace{Name: "b"}}}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := replicate.Withhold(now, c.failures, v.Find); len(got) != c.want {
				t.Errorf("%d targets are left", len(got))
			}
		})
	}
	it, _ := v.Find(both.Key)
	if replicate.TenantOf(&it) != "t" || replicate.OriginOf(&it) != "" {
		t.Errorf("payload %v", it.Payload)
	}
}
