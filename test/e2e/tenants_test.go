package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/testcluster"
)

// The size of TestTenants, which WEIR_E2E_TENANTS and WEIR_E2E_KILLS change:
// five hundred tenants and thirty kills take ten minutes.
const (
	manyTenants = 50
	manyKills   = 6
)

// estate is tenants whose namespaces a generator manages.
type estate struct {
	*stage
	t    *testing.T
	dir  string // their directories
	born map[string]types.UID
	want map[string]bool
}

const tenantsManifest = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: tenants, namespace: n50}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: n50}
rules:
  - {apiGroups: [""], resources: [namespaces], verbs: [get, create, patch, delete]}
  - {apiGroups: [source.toolkit.fluxcd.io], resources: [externalartifacts, externalartifacts/status], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: n50}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: n50}
subjects: [{kind: ServiceAccount, name: tenants, namespace: n50}]
---
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: tenants, namespace: n50}
spec:
  serviceAccountName: tenants
  sources: [{alias: m, kind: GitRepository, name: mono}]
  managedNamespaces: {allowedNames: ["ns.startsWith('n50-')"], prune: true}
  commonMetadata: {labels: {part-of: tenants}}
  pathPattern: "@m/{t}"
  artifacts: [{name: app, namespace: "{t}", copy: [{from: "@m/{t}/**", to: "@artifact/"}]}]
`

// Many tenants come and go while the controller is killed again and again: no
// namespace that is wanted is ever deleted, and none that is not stays.
func TestTenants(t *testing.T) {
	tenants, kills := size(t, "WEIR_E2E_TENANTS", manyTenants), size(t, "WEIR_E2E_KILLS", manyKills)
	e := &estate{stage: newStage(t), t: t, dir: t.TempDir(), born: map[string]types.UID{}, want: map[string]bool{}}
	t.Cleanup(func() { e.sweep(t, "n50") })
	for i := range tenants {
		e.add(i)
	}
	e.commit()
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	if err := os.WriteFile(file, []byte(tenantsManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	e.kubectl(t, "apply", "-f", file)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
	for i := range kills {
		if i > kills/3 { // first they all come
			e.remove(random.IntN(tenants))
			e.add(tenants + i)
			e.commit()
		}
		e.kill(time.Duration(random.IntN(6000)) * time.Millisecond)
	}
	start := time.Now()
	e.converge(5 * time.Minute)
	t.Logf("%d tenants converged %v after the last of %d kills", len(e.want), time.Since(start).Round(time.Millisecond), kills)
	e.removeOne()
	e.kubectl(t, "delete", "-n", "n50", "ag/tenants", "--timeout=300s")
	clear(e.want)
	e.await(3*time.Minute, func() error { return e.same(e.spaces()) })
}

func size(t *testing.T, variable string, standard int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return standard
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

func (e *estate) add(i int) {
	name := fmt.Sprintf("n50-t%03d", i)
	e.want[name] = true
	dir := filepath.Join(e.dir, name)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "f"), []byte(name), 0o600)); err != nil {
		e.t.Fatal(err)
	}
}

// remove removes a tenant that may be gone already.
func (e *estate) remove(i int) {
	name := fmt.Sprintf("n50-t%03d", i)
	delete(e.want, name)
	if err := os.RemoveAll(filepath.Join(e.dir, name)); err != nil {
		e.t.Fatal(err)
	}
}

// commit publishes the directories.
func (e *estate) commit() {
	e.t.Helper()
	err := e.sources.publish(e.t.Context(), e.client, publication{kind: "GitRepository", namespace: "n50", name: "mono", dir: e.dir})
	if err != nil {
		e.t.Fatal(err)
	}
}

// kill lets the controller live for so long, and starts it anew.
func (e *estate) kill(after time.Duration) {
	e.t.Helper()
	time.Sleep(after) // whenever it comes
	e.spaces()
	if err := errors.Join(e.controller.Kill(), e.controller.Start(e.t.Context())); err != nil {
		e.t.Fatal(err)
	}
	e.spaces()
}

// spaces returns the namespaces of tenants. One that is wanted must stay the one
// that it was.
func (e *estate) spaces() []string {
	e.t.Helper()
	var list corev1.NamespaceList
	if err := e.client.List(e.t.Context(), &list); err != nil {
		e.t.Fatal(err)
	}
	var names []string
	for _, n := range list.Items {
		if !strings.HasPrefix(n.Name, "n50-") {
			continue
		}
		names = append(names, n.Name)
		if was := e.born[n.Name]; e.want[n.Name] && (n.DeletionTimestamp != nil || was != "" && was != n.UID) {
			e.t.Errorf("namespace %s, which is wanted, was deleted", n.Name)
		}
		e.born[n.Name] = n.UID
	}
	return names
}

// same compares names with what is wanted.
func (e *estate) same(names []string) error {
	if want := slices.Sorted(maps.Keys(e.want)); !slices.Equal(names, want) {
		return fmt.Errorf("there are %d namespaces, want %d", len(names), len(want))
	}
	return nil
}

// converge waits until all is as wanted.
func (e *estate) converge(within time.Duration) {
	e.t.Helper()
	e.await(within, func() error {
		g := &unstructured.Unstructured{}
		g.SetAPIVersion("source.extensions.fluxcd.io/v1beta1")
		g.SetKind("ArtifactGenerator")
		if err := e.client.Get(e.t.Context(), types.NamespacedName{Namespace: "n50", Name: "tenants"}, g); err != nil {
			return err
		}
		var inventory []string
		entries, _, _ := unstructured.NestedSlice(g.Object, "status", "inventory")
		for _, entry := range entries {
			if m, _ := entry.(map[string]any); m["kind"] == "Namespace" {
				inventory = append(inventory, fmt.Sprint(m["name"]))
			}
		}
		conditions, _, _ := unstructured.NestedSlice(g.Object, "status", "conditions")
		ready := slices.ContainsFunc(conditions, func(c any) bool {
			m, _ := c.(map[string]any)
			return m["type"] == "Ready" && m["status"] == "True"
		})
		if !ready {
			return fmt.Errorf("not ready: %v", conditions)
		}
		var artifacts unstructured.UnstructuredList
		artifacts.SetAPIVersion(sourceAPI)
		artifacts.SetKind("ExternalArtifactList")
		if err := e.client.List(e.t.Context(), &artifacts); err != nil {
			return err
		}
		var of []string
		for _, a := range artifacts.Items {
			if strings.HasPrefix(a.GetNamespace(), "n50-") {
				of = append(of, a.GetNamespace())
			}
		}
		return errors.Join(e.same(e.spaces()), e.same(inventory), e.same(of))
	})
}

// removeOne removes one directory, which removes one namespace.
func (e *estate) removeOne() {
	e.t.Helper()
	if err := e.controller.settle(e.t.Context()); err != nil {
		e.t.Fatal(err)
	}
	audit := e.cluster.Audit(e.t)
	start := time.Now()
	name := slices.Sorted(maps.Keys(e.want))[0]
	number, err := strconv.Atoi(strings.TrimPrefix(name, "n50-t"))
	if err != nil {
		e.t.Fatal(err)
	}
	e.remove(number)
	e.commit()
	e.await(time.Minute, func() error {
		err := e.client.Get(e.t.Context(), types.NamespacedName{Name: name}, &corev1.Namespace{})
		if client.IgnoreNotFound(err) == nil && err != nil {
			return nil
		}
		return fmt.Errorf("namespace %s is still there: %w", name, err)
	})
	took := time.Since(start)
	e.converge(time.Minute)
	var deleted []string
	writes := audit.Events(e.t, testcluster.Query{User: e.controller.User(), Writes: true})
	for _, w := range writes {
		if w.Verb == "delete" {
			deleted = append(deleted, w.Resource+" "+w.Name)
		}
	}
	if want := []string{"externalartifacts app", "namespaces " + name}; !slices.Equal(deleted, want) {
		e.t.Errorf("deleted %q, want %q", deleted, want)
	}
	if len(writes) > 5 {
		e.t.Errorf("%d writes: %+v", len(writes), writes)
	}
	e.t.Logf("one of %d directories removed: its namespace was gone after %v, with %d writes and %d requests", len(e.want)+1, took.Round(time.Millisecond),
		len(writes), len(audit.Events(e.t, testcluster.Query{User: e.controller.User()})))
}

func (e *estate) await(within time.Duration, ready func() error) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), within)
	defer cancel()
	if err := await(ctx, ready); err != nil {
		e.t.Fatalf("within %v: %v", within, err)
	}
}
