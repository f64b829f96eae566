package reconciler_test

import (
	"os"
	"testing"

	"github.com/weir-dev/weir/internal/testcluster"
)

// shared is the control plane of the tests of this package.
var shared testcluster.Shared

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }
