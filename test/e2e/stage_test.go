package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/testcluster"
)

const (
	root          = "../.."
	manifests     = root + "/config/default"
	sourceCRDs    = "testdata/crds"
	deployment    = "weir-controller" // in manifests
	clearTimeout  = time.Minute
	settleTimeout = 3 * time.Minute // scripts that are played beside make work
)

// stage is a cluster with everything that a script may assume.
type stage struct {
	cluster    *testcluster.Cluster
	client     client.Client
	controller *controller
	sources    *sources
	flux       *flux // nil: there is none
	// env is what every program of a script has in its environment.
	env map[string]string
}

// newStage returns when everything is up. It is torn down with the test.
func newStage(t *testing.T) *stage {
	t.Helper()
	cluster := shared.Cluster(t) // skips before anything is built
	bin := build(t, cluster)
	admin := cluster.Kubeconfig(t, cluster.Admin())
	s := &stage{
		cluster: cluster,
		sources: newSources(t),
		env: map[string]string{
			"KUBECONFIG":   admin,
			"KUBECACHEDIR": t.TempDir(),
			"PATH":         bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
		},
	}
	var err error
	if s.client, err = client.New(cluster.Admin(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	// Not before it is established is a CRD known to clients.
	s.kubectl(t, "apply", "--server-side", "-f", sourceCRDs)
	s.kubectl(t, "apply", "--server-side", "-k", manifests)
	s.kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	s.controller = newController(t, cluster, filepath.Join(bin, "weir-controller"), s.deployment(t))
	t.Cleanup(func() {
		if err := s.controller.close(); err != nil {
			t.Errorf("at the end: %v", err)
		}
	})
	if err := s.controller.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// build makes a directory with the programs of scripts.
func build(t *testing.T, cluster *testcluster.Cluster) string {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"kubectl", "kube-controller-manager"} { // the second for controllers that the cluster does without
		if err := os.Symlink(filepath.Join(cluster.Bin(), name), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	goBuild(t, bin, "./cmd/weir")
	if os.Getenv("WEIR_E2E_RACE") == "1" {
		goBuild(t, bin, "-race", "./cmd/weir-controller")
	} else {
		goBuild(t, bin, "./cmd/weir-controller")
	}
	return bin
}

func goBuild(t *testing.T, bin string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", bin + "/"}, args...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %q: %v\n%s", args, err, out)
	}
}

// kubectl runs kubectl as cluster-admin.
func (s *stage) kubectl(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.cluster.Bin(), "kubectl"), args...)
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// deployment returns how weir-controller would run in the cluster.
func (s *stage) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	var all appsv1.DeploymentList
	if err := s.client.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, d := range all.Items {
		if d.Name == deployment {
			return &d
		}
	}
	t.Fatalf("%s has no Deployment %q", manifests, deployment)
	return nil
}

// sweep begins to delete what a script has left: its replications and tenants,
// its namespaces and all that is in them, the generators first. Nothing in a
// namespace is deleted before five seconds have passed.
func (s *stage) sweep(t *testing.T, prefix string) {
	t.Helper()
	ctx := context.Background() // the script's own has ended
	for _, kind := range []string{"GlobalTenantResource", "Tenant"} {
		if err := s.sweepKind(ctx, kind, prefix); err != nil {
			t.Errorf("sweeping: %v", err)
		}
	}
	var namespaces v1.NamespaceList
	if err := s.client.List(ctx, &namespaces); err != nil {
		t.Error(err)
	}
	for _, n := range namespaces.Items {
		if !isOf(n.Name, prefix) {
			continue
		}
		if err := s.client.DeleteAllOf(ctx, generator(n.Name, ""), client.InNamespace(n.Name)); err != nil {
			t.Errorf("sweeping: %v", err)
		}
		if err := s.client.Delete(ctx, &n); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			t.Errorf("sweeping: %v", err)
		}
	}
}

// sweepKind begins to delete the objects of a cluster-scoped kind of Capsule's
// group that a script has left.
func (s *stage) sweepKind(ctx context.Context, kind, prefix string) error {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("capsule.clastix.io/v1beta2")
	list.SetKind(kind + "List")
	if err := s.client.List(ctx, list); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		if o := &list.Items[i]; isOf(o.GetName(), prefix) {
			errs = append(errs, client.IgnoreNotFound(s.client.Delete(ctx, o)))
		}
	}
	return errors.Join(errs...)
}

// isOf reports whether a name is one of the script with that prefix.
func isOf(name, prefix string) bool { return name == prefix || strings.HasPrefix(name, prefix+"-") }

// clear returns when the stage is as if no script had been played, but for
// namespaces on their way out in which the controller has nothing more to do:
// it runs as its Deployment says and is idle.
func (s *stage) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clearTimeout)
	defer cancel()
	if err := errors.Join(s.controller.Restore(ctx), s.flux.restore(ctx)); err != nil {
		return err
	}
	err := await(ctx, func() error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(generator("", "").GroupVersionKind())
		if err := s.client.List(ctx, list); err != nil {
			return err
		}
		for _, g := range list.Items {
			if g.GetDeletionTimestamp() != nil {
				return fmt.Errorf("ArtifactGenerator %s/%s does not go away: %v", g.GetNamespace(), g.GetName(), g.Object["status"])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.controller.settle(ctx)
}

// end returns when nothing is left of the scripts.
func (s *stage) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clearTimeout)
	defer cancel()
	if err := s.clear(ctx); err != nil {
		return err
	}
	return await(ctx, func() error {
		var namespaces v1.NamespaceList
		if err := s.client.List(ctx, &namespaces); err != nil {
			return err
		}
		for _, n := range namespaces.Items {
			if n.DeletionTimestamp != nil {
				return fmt.Errorf("namespace %q does not go away: %v", n.Name, n.Status.Conditions)
			}
		}
		return nil
	})
}

func generator(namespace, name string) *unstructured.Unstructured {
	o := object("ArtifactGenerator", namespace, name)
	o.SetAPIVersion("source.extensions.fluxcd.io/v1beta1")
	return o
}

// await returns when ready returns nil, or its error when the context ends.
func await(ctx context.Context, ready func() error) error {
	var last error
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // else it only says that the context has ended
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(100 * time.Millisecond):
		}
	}
}
