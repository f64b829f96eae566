// Package testflux is Flux for tests: the programs of source-controller and
// kustomize-controller, with the rights that Flux gives them, on a test cluster
// that has their CRDs.
//
// `make flux` builds them; WEIR_FLUX names their directory where that is not
// bin/flux of the module.
package testflux

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/internal/testpod"
)

//go:embed rbac.yaml
var rbac []byte

// Namespace is where Flux lives.
const Namespace = "flux-system"

// ErrNotBuilt says that a program is missing.
var ErrNotBuilt = errors.New("flux is not built (run `make flux`)")

// Flux is the controllers.
type Flux struct {
	Source    *testpod.Pod
	Kustomize *testpod.Pod
}

// Program returns the path of one of the programs that `make flux` builds, or
// an error that wraps [ErrNotBuilt]. The module's root is where bin is.
func Program(root, name string) (string, error) {
	dir := os.Getenv("WEIR_FLUX")
	if dir == "" {
		dir = filepath.Join(root, "bin", "flux")
	}
	program, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotBuilt, err)
	}
	return program, nil
}

// Start returns when both controllers are ready. They write below dir, which
// exists. The caller stops what is returned, even with an error.
func Start(ctx context.Context, cluster *testcluster.Cluster, root, dir string) (*Flux, error) {
	if _, err := cluster.Kubectl(ctx, bytes.NewReader(rbac), "apply", "--server-side", "-f", "-"); err != nil {
		return nil, err
	}
	f := &Flux{}
	for name, pod := range map[string]**testpod.Pod{"source-controller": &f.Source, "kustomize-controller": &f.Kustomize} {
		program, err := Program(root, name)
		if err != nil {
			return f, err
		}
		own := filepath.Join(dir, name)
		if err := os.Mkdir(own, 0o700); err != nil {
			return f, err
		}
		*pod, err = testpod.New(ctx, cluster, own, spec(name, program))
		if err != nil {
			return f, err
		}
		if err := (*pod).Start(ctx); err != nil {
			return f, err
		}
	}
	return f, nil
}

// spec is what Flux's Deployments say, without an election, for which there is
// nobody else, and with more hands, for tests are in a hurry.
func spec(name, program string) testpod.Spec {
	s := testpod.Spec{
		Program: program, Namespace: Namespace, Account: name,
		Args: []string{"--watch-all-namespaces", "--log-level=info", "--log-encoding=json", "--concurrent=10", "--requeue-dependency=2s"},
	}
	if name == "source-controller" {
		s.Storage = true
	} else {
		s.Args = append(s.Args, "--feature-gates=ExternalArtifact=true")
	}
	return s
}

// Stop ends the controllers, and fails if one has ended before. Some or all
// may never have been started.
func (f *Flux) Stop(ctx context.Context) error {
	if f == nil {
		return nil
	}
	var errs []error
	for _, pod := range []*testpod.Pod{f.Kustomize, f.Source} {
		if pod != nil {
			errs = append(errs, pod.Stop(ctx))
		}
	}
	return errors.Join(errs...)
}
