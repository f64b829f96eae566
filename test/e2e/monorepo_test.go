package e2e_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/internal/testpod"
)

const (
	tenants      = 1459
	tenantsFiles = 21442

	// monorepoTimeout is for two cores that many others use.
	monorepoTimeout = 5 * time.Minute
)

// testMonorepo makes an artifact of each directory of a large repository, and
// then one of a commit that changes one file.
func testMonorepo(t *testing.T, s *stage) {
	ctx, cancel := context.WithTimeout(t.Context(), monorepoTimeout)
	defer cancel()
	t.Cleanup(func() { s.sweep(t, "monorepo") })
	m := &monorepo{stage: s, dir: t.TempDir()}
	scheme := runtime.NewScheme()
	if err := errors.Join(v1beta1.AddToScheme(scheme), sourcev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.typed, err = client.New(s.cluster.Admin(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	m.fill(t)
	m.measure(t, "push", func() { m.push(ctx, t) })

	audit := s.cluster.Audit(t)
	m.measure(t, "build of all", func() { m.generate(ctx, t) })
	if err := s.controller.settle(ctx); err != nil {
		t.Fatal(err)
	}
	first := m.artifacts(ctx, t)
	// Each is created and gets a status; the generator gets its finalizer, and a
	// status when work starts and when it ends.
	m.wantRequests(t, audit, 2*tenants+3, tenants)
	m.measure(t, "download of all", func() { m.download(ctx, t, first) })

	m.change(t)
	audit = s.cluster.Audit(t)
	m.measure(t, "push of one file", func() { m.push(ctx, t) })
	m.measure(t, "its artifact", func() { m.follow(ctx, t, first["tenant-0042"]) })
	if err := s.controller.settle(ctx); err != nil {
		t.Fatal(err)
	}
	for name, after := range m.artifacts(ctx, t) {
		if changed := after.ResourceVersion != first[name].ResourceVersion; changed != (name == "tenant-0042") {
			t.Errorf("artifact %q is written: %t, want only that of the file", name, changed)
		}
	}
	m.wantRequests(t, audit, 3, 0)
	now, most, err := s.controller.Memory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the controller has %d KiB of memory, and had %d at most", now>>10, most>>10)
}

// monorepo is a repository and the generator that takes it apart.
type monorepo struct {
	*stage
	typed client.Client
	dir   string
}

// fill unpacks the archive that the benchmarks measure on, or, where there is
// none, writes as many directories and files.
func (m *monorepo) fill(t *testing.T) {
	t.Helper()
	name := os.Getenv("WEIR_BENCH_DATA")
	if name == "" {
		name = root + "/../shared/data/monorepo.tar.gz"
	}
	data, err := os.ReadFile(name)
	if err == nil {
		t.Logf("the repository is %s", filepath.Base(name))
		if err := unpack(data, m.dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	if os.Getenv("WEIR_BENCH_DATA") != "" || !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	t.Log("the repository is made up, in the shape of a real one")
	if err := makeUp(m.dir); err != nil {
		t.Fatal(err)
	}
}

// makeUp writes a repository with as many tenants and files as the archive has.
func makeUp(dir string) error {
	for i := range tenantsFiles {
		tenant := fmt.Sprintf("tenant-%04d", i%tenants+1)
		file := filepath.Join(dir, "tenants", tenant, fmt.Sprintf("%02d-resource.yaml", i/tenants))
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: r%d\n  namespace: %s\ndata:\n  number: \"%d\"\n", i/tenants, tenant, i)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	return nil
}

func TestMadeUpMonorepo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := makeUp(dir); err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(dir, "tenants", "tenant-*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]bool{}
	for _, file := range all {
		dirs[filepath.Dir(file)] = true
	}
	if len(all) != tenantsFiles || len(dirs) != tenants {
		t.Errorf("it has %d files in %d directories, want %d in %d", len(all), len(dirs), tenantsFiles, tenants)
	}
}

// change changes one file of a tenant.
func (m *monorepo) change(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.dir, "tenants", "tenant-0042", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of the tenant: %v", err)
	}
	data, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[0], append(data, "# changed\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m *monorepo) measure(t *testing.T, what string, do func()) {
	t.Helper()
	start := time.Now()
	do()
	t.Logf("%s: %v", what, time.Since(start).Round(10*time.Millisecond))
}

// push pushes the repository to Git, or without Flux straight to where its
// artifact is served.
func (m *monorepo) push(ctx context.Context, t *testing.T) {
	t.Helper()
	var err error
	of := types.NamespacedName{Namespace: "monorepo", Name: "fleet"}
	if m.flux != nil {
		err = m.flux.push(ctx, m.client, "GitRepository", of, m.dir)
	} else {
		err = m.sources.publish(ctx, m.client, publication{kind: "GitRepository", namespace: of.Namespace, name: of.Name, dir: m.dir})
	}
	if err != nil {
		t.Fatal(err)
	}
}

const tenantsGenerator = `
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: tenants, namespace: monorepo}
spec:
  sources: [{alias: fleet, kind: GitRepository, name: fleet}]
  pathPattern: "@fleet/tenants/{tenant}"
  artifacts:
    - {name: "{tenant}", copy: [{from: "@fleet/tenants/{tenant}/**", to: "@artifact/"}]}
`

// generate makes the generator and returns when it is ready.
func (m *monorepo) generate(ctx context.Context, t *testing.T) {
	t.Helper()
	if _, err := m.cluster.Kubectl(ctx, strings.NewReader(tenantsGenerator), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	err := await(ctx, func() error {
		g, err := m.generator(ctx)
		if err != nil {
			return err
		}
		if !apimeta.IsStatusConditionTrue(g.Status.Conditions, "Ready") || len(g.Status.Inventory) != tenants {
			return fmt.Errorf("the generator has %d artifacts: %+v", len(g.Status.Inventory), g.Status.Conditions)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (m *monorepo) generator(ctx context.Context) (*v1beta1.ArtifactGenerator, error) {
	g := &v1beta1.ArtifactGenerator{}
	return g, m.typed.Get(ctx, types.NamespacedName{Namespace: "monorepo", Name: "tenants"}, g)
}

// artifacts returns all that was made, by name, which must be ready.
func (m *monorepo) artifacts(ctx context.Context, t *testing.T) map[string]sourcev1.ExternalArtifact {
	t.Helper()
	var list sourcev1.ExternalArtifactList
	if err := m.typed.List(ctx, &list, client.InNamespace("monorepo")); err != nil {
		t.Fatal(err)
	}
	all := map[string]sourcev1.ExternalArtifact{}
	for _, a := range list.Items {
		if a.Status.Artifact == nil || !apimeta.IsStatusConditionTrue(a.Status.Conditions, "Ready") {
			t.Errorf("artifact %q is not ready: %+v", a.Name, a.Status.Conditions)
		}
		all[a.Name] = a
	}
	if len(all) != tenants {
		t.Fatalf("there are %d artifacts, want %d", len(all), tenants)
	}
	return all
}

// download gets every artifact, which must have its digest.
func (m *monorepo) download(ctx context.Context, t *testing.T, all map[string]sourcev1.ExternalArtifact) {
	t.Helper()
	for name, a := range all {
		data, err := testpod.Get(ctx, a.Status.Artifact.URL)
		if err != nil {
			t.Fatal(err)
		}
		if digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); digest != a.Status.Artifact.Digest {
			t.Fatalf("artifact %q has digest %q, want %q", name, digest, a.Status.Artifact.Digest)
		}
	}
}

// follow returns when an artifact has another revision than before.
func (m *monorepo) follow(ctx context.Context, t *testing.T, before sourcev1.ExternalArtifact) {
	t.Helper()
	err := await(ctx, func() error {
		var now sourcev1.ExternalArtifact
		if err := m.typed.Get(ctx, client.ObjectKeyFromObject(&before), &now); err != nil {
			return err
		}
		if now.Status.Artifact.Revision == before.Status.Artifact.Revision {
			return fmt.Errorf("artifact %q stays at %q", now.Name, now.Status.Artifact.Revision)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantRequests fails when the controller has written more often than that, or has
// read more ExternalArtifacts one by one.
func (m *monorepo) wantRequests(t *testing.T, audit *testcluster.Audit, writes, reads int) {
	t.Helper()
	written, read, counts := 0, 0, map[string]int{}
	for _, e := range audit.Events(t, testcluster.Query{User: m.controller.User()}) {
		if e.Write() {
			written++
		}
		if e.Verb == "get" && e.Resource == "externalartifacts" {
			read++
		}
		counts[strings.TrimSuffix(fmt.Sprintf("%s %s/%s", e.Verb, e.Resource, e.Subresource), "/")]++
	}
	t.Logf("%d writes, of at most %d; requests: %v", written, writes, counts)
	if written > writes || read > reads {
		t.Errorf("the controller has written %d times and read %d objects, want at most %d and %d", written, read, writes, reads)
	}
}
