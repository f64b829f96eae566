//go:build unix

package examples

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/cli"
)

// umaskKey names the variable that makes the test's binary run as the weir
// command, with the umask it holds: a umask belongs to a whole process.
const umaskKey = "WEIR_TEST_UMASK"

func TestMain(m *testing.M) {
	if mask, err := strconv.ParseInt(os.Getenv(umaskKey), 8, 0); err == nil {
		syscall.Umask(int(mask))
		os.Exit(cli.Run(context.Background(), os.Args, cli.Env{
			Getenv: os.Getenv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		}))
	}
	os.Exit(m.Run())
}

// surrounding is what a build must not depend on.
type surrounding struct {
	umask       string
	fileMode    fs.FileMode // of files that are not executable
	dirMode     fs.FileMode
	modified    time.Time // of all files and directories
	zone        string
	processors  string
	concurrency string
}

// The same sources make the same bytes, wherever, whenever and by whomever
// they are built.
func TestDeterminism(t *testing.T) {
	one := everything(t, surrounding{
		umask: "022", fileMode: 0o644, dirMode: 0o755, modified: time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC),
		zone: "UTC", processors: "1", concurrency: "1",
	})
	two := everything(t, surrounding{
		umask: "077", fileMode: 0o600, dirMode: 0o700, modified: time.Date(2038, 12, 31, 23, 59, 59, 0, time.UTC),
		zone: "Asia/Kathmandu", processors: "8", concurrency: "8",
	})
	if diff := gocmp.Diff(one, two); diff != "" {
		t.Errorf("two builds differ:\n%s", diff)
	}
	if tarballs := len(one) - 1; tarballs != 7 {
		t.Errorf("%d tarballs, want 7", tarballs)
	}
}

// everything builds all examples in a copy of this directory, in a process of
// its own, and returns the report and the tarballs by name.
func everything(t *testing.T, s surrounding) map[string]string {
	t.Helper()
	dir := t.TempDir()
	s.copy(t, dir)
	args := append(arguments(t, examples(t)...), "--output", "json", "--output-dir", "out", "--concurrency", s.concurrency)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var report, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), self, append([]string{"build"}, args...)...)
	c.Dir, c.Stdout, c.Stderr = dir, &report, &errs
	c.Env = append(os.Environ(), umaskKey+"="+s.umask, "TZ="+s.zone, "GOMAXPROCS="+s.processors)
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	built := map[string]string{"report": report.String()}
	for name, data := range files(t, filepath.Join(dir, "out")) {
		built[strings.TrimSuffix(name, "*")] = data
	}
	return built
}

// copy copies the examples into dir, with what s says of files.
func (s surrounding) copy(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := s.fileMode
		switch {
		case d.IsDir():
			mode = s.dirMode
		case info.Mode()&0o100 != 0:
			mode |= 0o100 // the owner's bit is enough
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
		return os.Chtimes(path, s.modified, s.modified)
	})
	if err != nil {
		t.Fatal(err)
	}
}
