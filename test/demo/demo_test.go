package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/internal/testflux"
)

const root = "../.."

func TestDemo(t *testing.T) {
	for _, missing := range []error{testcluster.Built(), built()} {
		if missing != nil && os.Getenv("WEIR_REQUIRE_CONTROLPLANE") != "1" {
			t.Skip(missing)
		}
		if missing != nil {
			t.Fatal(missing)
		}
	}
	bin := t.TempDir()
	for _, program := range []string{"./cmd/weir-controller", "./test/demo"} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", program)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", program, err, out)
		}
	}
	for name, play := range map[string]func(*testing.T, *demonstration){
		"once":                  once,
		"a commit":              aCommit,
		"ended before it began": endedEarly,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, newDemonstration(t, bin))
		})
	}
}

func built() error {
	_, err := testflux.Program(root, "servers")
	return err
}

// demonstration is a demo that is or was run.
type demonstration struct {
	bin, temp string
	cmd       *exec.Cmd
	out       output
	done      chan struct{} // closed when it has ended, with err
	err       error
}

func newDemonstration(t *testing.T, bin string) *demonstration {
	t.Helper()
	return &demonstration{bin: bin, temp: t.TempDir()}
}

func (d *demonstration) start(t *testing.T, args ...string) {
	t.Helper()
	d.cmd = exec.CommandContext(t.Context(), filepath.Join(d.bin, "demo"), append([]string{"--root=" + root, "--controller=" + filepath.Join(d.bin, "weir-controller")}, args...)...)
	d.cmd.Env = append(os.Environ(), "TMPDIR="+d.temp)
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.out
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(os.Interrupt) }
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.done = make(chan struct{})
	go func() {
		d.err = d.cmd.Wait()
		close(d.done)
	}()
}

// end returns when the demo has ended, which must be well and leave nothing.
func (d *demonstration) end(t *testing.T) {
	t.Helper()
	<-d.done
	if d.err != nil {
		t.Errorf("%v\n%s", d.err, d.out.String())
	}
	left, err := os.ReadDir(d.temp)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	for _, pid := range d.processes(t) {
		t.Errorf("process %s is left", pid)
	}
}

// processes returns the ids of processes that work in the demo's directory.
func (d *demonstration) processes(t *testing.T) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, link := range links {
		if dir, err := os.Readlink(link); err == nil && strings.HasPrefix(dir, d.temp) {
			pids = append(pids, filepath.Base(filepath.Dir(link)))
		}
	}
	return pids
}

// shows returns as soon as the output matches.
func (d *demonstration) shows(t *testing.T, expression string) {
	t.Helper()
	pattern := regexp.MustCompile(expression)
	limit := time.After(4 * time.Minute)
	for running := true; running; {
		if pattern.MatchString(d.out.String()) {
			return
		}
		select {
		case <-d.done:
			running = false
		case <-limit:
			running = false
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("it does not show %q:\n%s", expression, d.out.String())
}

func once(t *testing.T, d *demonstration) {
	d.start(t, "--once")
	d.end(t)
	for _, want := range []string{
		`✓ ArtifactGenerator apps/my-app `, `✓ ExternalArtifact my-app-composite `, `✓ Kustomization my-app +applied`,
		`Deployment my-app/backend +replicas 2`, `✓ ExternalArtifact podinfo-composite `, `StatefulSet shop/backend`,
	} {
		if !regexp.MustCompile(want).MatchString(d.out.String()) {
			t.Errorf("it does not show %q", want)
		}
	}
	if t.Failed() {
		t.Log(d.out.String())
	}
}

// aCommit does what the demo says one should try.
func aCommit(t *testing.T, d *demonstration) {
	d.start(t)
	d.shows(t, `Deployment shop/frontend +replicas 3`)
	if len(d.processes(t)) < 6 {
		t.Error("there are fewer processes than a cluster, Flux and Weir")
	}
	_, commands, _ := strings.Cut(d.out.String(), "In another terminal, in this directory:\n")
	commands, _, _ = strings.Cut(commands, "Only the frontend moves.")
	clone := filepath.Join(t.TempDir(), "shop")
	shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.ReplaceAll(commands, "/tmp/shop", clone))
	shell.Dir = root
	shell.Env = append(os.Environ(), "HOME="+t.TempDir())
	if out, err := shell.CombinedOutput(); err != nil || !strings.Contains(string(out), "my-app-composite") {
		t.Errorf("what it says to try: %v\n%s", err, out)
	}
	d.shows(t, `ExternalArtifact frontend +latest@sha256:[0-9a-f]+ new .*\n +✓ Kustomization frontend +applied\n +Deployment shop/frontend +replicas 7`)
	if strings.Contains(d.out.String(), "ExternalArtifact backend") && regexp.MustCompile(`ExternalArtifact backend +\S+ new`).MatchString(d.out.String()) {
		t.Error("the backend moves too")
	}
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	d.end(t)
}

func endedEarly(t *testing.T, d *demonstration) {
	d.start(t)
	d.shows(t, `kube-apiserver`)
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	d.end(t)
}

// output is what a program prints, to be read meanwhile.
type output struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.data.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.data.String()
}

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such flag":     {[]string{"--twice"}, "flag provided but not defined: -twice"},
		"an argument":      {[]string{"compose"}, `demo takes no arguments, got ["compose"]`},
		"nothing is built": {[]string{"--root", t.TempDir()}, "make demo"},
	} {
		err := run(t.Context(), c.args, func(string) string { return "" }, os.Stdout, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
