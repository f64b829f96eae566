package e2e_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/internal/testpod"
)

// controller is weir-controller as it would run in the pod of its Deployment.
type controller struct{ *testpod.Pod }

// newController returns a controller that is not started.
func newController(t *testing.T, cluster *testcluster.Cluster, program string, d *appsv1.Deployment) *controller {
	t.Helper()
	pod, err := testpod.New(t.Context(), cluster, t.TempDir(), testpod.Of(d, program))
	if err != nil {
		t.Fatal(err)
	}
	return &controller{pod}
}

// close stops the controller for good and tells of races that it has found.
func (c *controller) close() error {
	err := c.Stop(context.Background())
	log, readErr := c.Log()
	if strings.Contains(log, "WARNING: DATA RACE") {
		err = errors.Join(err, errors.New("the controller has data races:\n"+log))
	}
	return errors.Join(err, readErr)
}
