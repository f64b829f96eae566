package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Shared is the cluster of one package of tests. The zero value is ready for
// use.
type Shared struct {
	once    sync.Once
	cluster *Cluster
	err     error
}

// Run runs the tests and then stops the cluster, if one of them has started
// it. It returns the exit status: that of the tests, and 1 when the tests
// passed although a part of the cluster had ended under them.
func (s *Shared) Run(m *testing.M) int {
	status := m.Run()
	if s.cluster == nil {
		return status
	}
	if err := s.cluster.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "stopping the test cluster: %v\n", err)
		return max(status, 1)
	}
	return status
}

// Cluster returns the cluster, which the first call starts. Where the programs
// are not built it skips the test, or fails it if WEIR_REQUIRE_CONTROLPLANE is
// 1, as it is in `make test`.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	// The cluster outlives the test that starts it, and so must its context.
	s.once.Do(func() { s.cluster, s.err = Start(context.Background()) })
	switch {
	case errors.Is(s.err, errNotBuilt) && os.Getenv("WEIR_REQUIRE_CONTROLPLANE") != "1":
		t.Skip(s.err)
	case s.err != nil:
		t.Fatal(s.err)
	}
	return s.cluster
}

var errNotBuilt = errors.New("the control plane is not built (run `make controlplane`)")

// Built returns an error when one of the programs that a cluster runs is
// missing.
func Built() error {
	_, err := programs()
	return err
}

// programs returns the absolute path of the directory that holds the cluster's
// programs, or an error that wraps errNotBuilt when one of them is missing.
func programs() (string, error) {
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "bin", "controlplane")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("%w: %w", errNotBuilt, err)
		}
	}
	return dir, nil
}

// moduleRoot returns the nearest directory above the working directory, which
// in a test is its package's, that has a go.mod.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above %q: %w", start, errNotBuilt)
		}
	}
}
