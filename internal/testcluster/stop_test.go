package testcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestStopLeavesNothing(t *testing.T) {
	if _, err := programs(); err != nil {
		shared.Cluster(t) // skips or fails
	}
	// A socket's path may not be this long.
	temp := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	started := time.Now()
	cluster, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %v", time.Since(started))
	for _, pid := range cluster.procs.Pids() {
		if !alive(pid) {
			t.Errorf("process %d does not run", pid)
		}
	}
	started = time.Now()
	if err := cluster.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("stopped in %v", time.Since(started))
	for _, pid := range cluster.procs.Pids() {
		if alive(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
	if _, err := os.Stat(cluster.dir.root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

// doomed, in the environment of this test binary, says how it dies.
const doomed = "WEIR_TESTCLUSTER_DOOMED"

// startAndDie starts a cluster, prints its directory and the ids of its
// processes, and dies without a chance to stop it.
func startAndDie() {
	cluster, err := Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(cluster.dir.root)
	for _, pid := range cluster.procs.Pids() {
		fmt.Println(pid)
	}
	if os.Getenv(doomed) == "panic" {
		go panic("a test panics in a goroutine of its own")
		select {}
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	panic(err)
}

func TestNothingOutlivesTheTests(t *testing.T) {
	if _, err := programs(); err != nil {
		shared.Cluster(t) // skips or fails
	}
	for _, death := range []string{"panic", "kill"} {
		t.Run(death, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), doomed+"="+death)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			lines := strings.Fields(stdout.String())
			if err == nil || len(lines) != 4 {
				t.Fatalf("the child printed %q and ended with %v, want a directory and three processes:\n%s", lines, err, &stderr)
			}
			for _, line := range lines[1:] {
				pid, err := strconv.Atoi(line)
				if err != nil {
					t.Fatal(err)
				}
				eventually(t, "process "+line+" has ended", func() bool { return !alive(pid) })
			}
			sweep(filepath.Dir(lines[0]))
			if _, err := os.Stat(lines[0]); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the directory is still there: %v", err)
			}
		})
	}
}

func TestSweepSparesTheLiving(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := newDirectory()
	if err != nil {
		t.Fatal(err)
	}
	sweep(filepath.Dir(d.root))
	if _, err := os.Stat(d.path(lockName)); err != nil {
		t.Error(err)
	}
	if err := d.remove(); err != nil {
		t.Error(err)
	}
}

// alive reports whether the process runs; one that has ended and is only not
// yet collected by its parent does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
