package cli_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weir-dev/weir/internal/cli"
)

var update = flag.Bool("update", false, "rewrite what the scripts in testdata want")

// TestMain makes the test binary answer as weir, under each of its names.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"weir": weir, "kubectl-weir": weir, "flux-weir": weir})
}

func weir() {
	os.Exit(cli.Run(context.Background(), os.Args, cli.Env{
		Version: "v1.2.3", Getenv: os.Getenv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
	}))
}

// TestScripts runs testdata/*.txtar. Beside the commands of testscript they
// have:
//
//	exits CODE COMMAND…   runs the command and wants the exit code
//	api DIR               starts an API server that answers with files, see [api]
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup:              setup,
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "api": startAPI},
	})
}

// setup makes git write the same commits for everybody on every day.
func setup(e *testscript.Env) error {
	const date = "2026-01-02T03:04:05Z"
	e.Setenv("HOME", e.WorkDir)
	e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	e.Setenv("GIT_CONFIG_COUNT", "1")
	e.Setenv("GIT_CONFIG_KEY_0", "init.defaultBranch")
	e.Setenv("GIT_CONFIG_VALUE_0", "main")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		e.Setenv("GIT_"+who+"_NAME", "weir")
		e.Setenv("GIT_"+who+"_EMAIL", "weir@example.com")
		e.Setenv("GIT_"+who+"_DATE", date)
	}
	e.Setenv("KUBECONFIG", "")
	e.Setenv("KUBERNETES_SERVICE_HOST", "")
	// The race detector waits for a second at the end of each program.
	e.Setenv("GORACE", "atexit_sleep_ms=0")
	return nil
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
