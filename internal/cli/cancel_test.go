package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/cli"
)

const twoTeams = `
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: teams, namespace: apps}
spec:
  sources:
    - {alias: repo, kind: GitRepository, name: monorepo}
  pathPattern: "@repo/{team}"
  artifacts:
    - name: "{team}"
      copy: [{from: "@repo/{team}/**", to: "@artifact/"}]
`

// fuse is a context that ends when it was asked a number of times whether it
// has.
type fuse struct {
	context.Context
	left atomic.Int64
	burn context.CancelFunc
}

func (f *fuse) Err() error {
	if f.left.Add(-1) == 0 {
		f.burn()
	}
	return f.Context.Err()
}

// TestInterrupted interrupts a build wherever it looks whether it was.
func TestInterrupted(t *testing.T) {
	source := teams(t)
	whole := filepath.Join(t.TempDir(), "out")
	if code, _, stderr := build(t.Context(), source, "--output-dir", whole); code != 0 {
		t.Fatal(stderr)
	}
	want := files(t, whole)
	for n := int64(1); ; n++ {
		dir := filepath.Join(t.TempDir(), "out")
		ctx := &fuse{}
		ctx.Context, ctx.burn = context.WithCancel(t.Context())
		ctx.left.Store(n)
		code, stdout, stderr := build(ctx, source, "--output-dir", dir)
		ctx.burn()
		if code == 0 && ctx.left.Load() > 0 {
			break
		}
		if code != 1 || stdout != "" || stderr != "Error: interrupted\n" {
			t.Errorf("after %d: exit code %d, output %q, errors %q", n, code, stdout, stderr)
		}
		for name, data := range files(t, dir) {
			if data != want[name] {
				t.Errorf("after %d: %s is not what a whole run makes", n, name)
			}
		}
	}
}

// TestInterruptedInput interrupts a build that waits for what nobody types.
func TestInterruptedInput(t *testing.T) {
	in, typed := io.Pipe()
	t.Cleanup(func() { _ = typed.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	code := cli.Run(ctx, []string{"weir", "build", "-f", "-"}, cli.Env{
		Getenv: os.Getenv, In: in, Out: io.Discard, Err: &stderr,
	})
	if got := stderr.String(); code != 1 || got != "Error: interrupted\n" {
		t.Errorf("exit code %d, errors %q", code, got)
	}
}

// TestInterruptedWait interrupts one who waits for an answer that nobody gives.
func TestInterruptedWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	object := `{"kind": "ArtifactGenerator", "metadata": {"name": "app", "namespace": "apps", "uid": "u", "resourceVersion": "1"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("watch") == "true":
			w.(http.Flusher).Flush()
			cancel()
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/app"):
			fmt.Fprint(w, object)
		default:
			fmt.Fprintf(w, `{"kind": "ArtifactGeneratorList", "metadata": {"resourceVersion": "1"}, "items": [%s]}`, object)
		}
	}))
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, fmt.Appendf(nil, kubeconfig, server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := cli.Run(ctx, []string{"weir", "reconcile", "ag", "app", "--wait", "--kubeconfig", config}, cli.Env{
		Getenv: func(string) string { return "" }, Out: &out, Err: &errs,
	})
	if got := errs.String(); code != 1 || got != "Error: interrupted\n" || out.String() != "artifactgenerator/app reconciliation requested\n" {
		t.Errorf("exit code %d, output %q, errors %q", code, out.String(), got)
	}
}

// TestClosedOutput prints to a pipe that nobody reads any more.
func TestClosedOutput(t *testing.T) {
	in, out := io.Pipe()
	in.CloseWithError(errors.New("broken pipe"))
	var stderr bytes.Buffer
	code := cli.Run(t.Context(), arguments(teams(t), "--output", "json"), cli.Env{
		Getenv: os.Getenv, In: strings.NewReader(twoTeams), Out: out, Err: &stderr,
	})
	if got := stderr.String(); code != 1 || got != "Error: printing the result: broken pipe\n" {
		t.Errorf("exit code %d, errors %q", code, got)
	}
}

// TestOneWrite prints a report of many rows in one piece.
func TestOneWrite(t *testing.T) {
	for _, format := range []string{"table", "json", "yaml"} {
		var out counter
		code := cli.Run(t.Context(), arguments(teams(t), "--output", format), cli.Env{
			Getenv: os.Getenv, In: strings.NewReader(twoTeams), Out: &out, Err: io.Discard,
		})
		if code != 0 || out != 1 {
			t.Errorf("%s: exit code %d after %d writes", format, code, out)
		}
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c++
	return len(p), nil
}

func build(ctx context.Context, source string, more ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = cli.Run(ctx, arguments(source, more...), cli.Env{
		Getenv: os.Getenv, In: strings.NewReader(twoTeams), Out: &out, Err: &errs,
	})
	return code, out.String(), errs.String()
}

func arguments(source string, more ...string) []string {
	return append([]string{"weir", "build", "-f", "-", "--source", "repo=" + source, "--concurrency", "2"}, more...)
}

// teams returns a source of several teams.
func teams(t *testing.T) string {
	dir := t.TempDir()
	for i := range 4 {
		team := filepath.Join(dir, fmt.Sprintf("team-%d", i))
		if err := os.Mkdir(team, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(team, "app.yaml"), []byte(team), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// files returns what is below a directory, which may be missing.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

// TestEnvironment runs a build whose environment has no home directory.
func TestEnvironment(t *testing.T) {
	var stderr bytes.Buffer
	code := cli.Run(t.Context(), arguments("~/nowhere"), cli.Env{
		Getenv: func(string) string { return "" }, In: strings.NewReader(twoTeams), Out: io.Discard, Err: &stderr,
	})
	want := "Error: SourceFetchFailed: alias \"repo\": source \"~/nowhere\": no such file or directory\n"
	if diff := cmp.Diff(want, stderr.String()); diff != "" || code != 1 {
		t.Errorf("exit code %d (-want +got):\n%s", code, diff)
	}
}
