package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testflux"
	"github.com/weir-dev/weir/internal/testforge"
	"github.com/weir-dev/weir/internal/testpod"
)

// TestFlux plays the scripts on a stage where source-controller gets the
// sources and kustomize-controller applies the artifacts.
func TestFlux(t *testing.T) {
	files := txtars(t, "testdata/flux")
	s := newStage(t)
	s.flux = newFlux(t, s)
	t.Run("alone", func(t *testing.T) { s.play(t, files, true) })
	t.Run("together", func(t *testing.T) { s.play(t, files, false) })
	t.Run("monorepo", func(t *testing.T) { testMonorepo(t, s) })

}

// flux is Flux's controllers and what source-controller gets sources from.
type flux struct {
	*testflux.Flux
	forge *testforge.Forge
}

// newFlux returns when everything is up. It is torn down with the test.
func newFlux(t *testing.T, s *stage) *flux {
	t.Helper()
	servers, err := testflux.Program(root, "servers")
	if errors.Is(err, testflux.ErrNotBuilt) && os.Getenv("WEIR_REQUIRE_CONTROLPLANE") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := &flux{}
	if f.forge, err = testforge.Start(t.Context(), servers, testpod.Address(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.forge.Stop(); err != nil {
			t.Errorf("at the end: %v", err)
		}
	})
	f.Flux, err = testflux.Start(t.Context(), s.cluster, root, t.TempDir())
	t.Cleanup(func() {
		if err := f.Stop(context.Background()); err != nil {
			t.Errorf("at the end: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.env["EXAMPLES"], err = filepath.Abs(root + "/examples"); err != nil {
		t.Fatal(err)
	}
	return f
}

// restore makes both controllers run as they did at first. Without Flux there
// is nothing to do.
func (f *flux) restore(ctx context.Context) error {
	if f == nil {
		return nil
	}
	return errors.Join(f.Source.Restore(ctx), f.Kustomize.Restore(ctx))
}

// explain returns what the controllers' logs say about a script's objects.
func (f *flux) explain(prefix string) string {
	if f == nil {
		return ""
	}
	var out strings.Builder
	for name, pod := range map[string]*testpod.Pod{"source-controller": f.Source, "kustomize-controller": f.Kustomize} {
		log, err := pod.Log()
		if err != nil {
			fmt.Fprintln(&out, err)
		}
		var about []string
		for line := range strings.SplitSeq(log, "\n") {
			if strings.Contains(line, `"namespace":"`+prefix) {
				about = append(about, line[:min(len(line), 500)])
			}
		}
		fmt.Fprintf(&out, "[log of %s about %s]\n%s\n", name, prefix, tail(about, 15))
	}
	return out.String()
}

// control is the script command flux.
func (s *script) controlFlux(c call) error {
	if s.flux == nil {
		return errNoFlux
	}
	if len(c.args) < 2 {
		return errFluxUsage
	}
	pods := map[string]*testpod.Pod{"source-controller": s.flux.Source, "kustomize-controller": s.flux.Kustomize}
	pod := pods[c.args[1]]
	switch {
	case pod == nil:
		return errFluxUsage
	case c.args[0] == "start":
		return pod.Start(s.ctx, c.args[2:]...)
	case c.args[0] == "stop" && len(c.args) == 2:
		return pod.Stop(s.ctx)
	case c.args[0] == "kill" && len(c.args) == 2:
		return pod.Kill()
	case c.args[0] == "wipe" && len(c.args) == 2:
		return wipe(pod.Disk())
	}
	return errFluxUsage
}

var (
	errNoFlux    = fmt.Errorf("%w: only scripts in testdata/flux have Flux", errUsage)
	errFluxUsage = fmt.Errorf("%w: flux start|stop|kill|wipe source-controller|kustomize-controller [FLAG…]", errUsage)
)

// wipe removes all that is in a directory.
func wipe(dir string) error {
	return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
}
