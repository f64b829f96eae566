package demo

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/internal/testflux"
	"github.com/weir-dev/weir/internal/testforge"
	"github.com/weir-dev/weir/internal/testpod"
)

// world is everything that runs. What is nil was not started.
type world struct {
	Options
	cluster    *testcluster.Cluster
	forge      *testforge.Forge
	flux       *testflux.Flux
	weir       *testpod.Pod
	kubeconfig string // of cluster-admin
}

func (w *world) startCluster(ctx context.Context) (err error) {
	if w.cluster, err = testcluster.Start(ctx); err != nil {
		return err
	}
	dir, err := w.cluster.Directory("user")
	if err != nil {
		return err
	}
	w.kubeconfig = filepath.Join(dir, "kubeconfig")
	return testcluster.WriteKubeconfig(w.kubeconfig, w.cluster.Admin())
}

// install applies what a user would install, and returns when the API server
// knows the new kinds.
func (w *world) install(ctx context.Context) error {
	for _, args := range [][]string{
		{"apply", "--server-side", "-f", w.path("test/e2e/testdata/crds")},
		{"apply", "--server-side", "-k", w.path("config/default")},
		{"wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"},
	} {
		if _, err := w.cluster.Kubectl(ctx, nil, args...); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) startForge(ctx context.Context) error {
	program, err := testflux.Program(w.Root, "servers")
	if err != nil {
		return err
	}
	dir, err := w.cluster.Directory("forge")
	if err != nil {
		return err
	}
	w.forge, err = testforge.Start(ctx, program, testpod.Address(), dir)
	return err
}

func (w *world) startFlux(ctx context.Context) error {
	dir, err := w.cluster.Directory("flux")
	if err != nil {
		return err
	}
	w.flux, err = testflux.Start(ctx, w.cluster, w.Root, dir)
	return err
}

// startController runs Weir as the Deployment that was installed says.
func (w *world) startController(ctx context.Context) error {
	text, err := w.cluster.Kubectl(ctx, nil, "get", "deployment", "weir-controller", "-n", "weir-system", "-o", "json")
	if err != nil {
		return err
	}
	var d appsv1.Deployment
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	dir, err := w.cluster.Directory("weir")
	if err != nil {
		return err
	}
	if w.weir, err = testpod.New(ctx, w.cluster, dir, testpod.Of(&d, w.Controller)); err != nil {
		return err
	}
	return w.weir.Start(ctx)
}

// stop ends all that was started, in the opposite order.
func (w *world) stop(ctx context.Context) error {
	var errs []error
	if w.weir != nil {
		errs = append(errs, w.weir.Stop(ctx))
	}
	errs = append(errs, w.flux.Stop(ctx))
	if w.forge != nil {
		errs = append(errs, w.forge.Stop())
	}
	if w.cluster != nil {
		errs = append(errs, w.cluster.Stop())
	}
	return errors.Join(errs...)
}
