package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/tree"
)

var errKilled = errors.New("killed")

// killed returns a hook that lets n operations happen and none after them,
// cleaning up included, and a function that reports whether it got there.
func killed(n int) (before func(op, name string) error, reached func() bool) {
	done := 0
	return func(string, string) error {
			if done++; done > n {
				return errKilled
			}
			return nil
		}, func() bool {
			return done > n
		}
}

func one(t *testing.T, data string) (tree.Tree, blob.Digest) {
	t.Helper()
	var b tree.Builder
	if err := b.AddFile("a", false, blob.Of([]byte(data))); err != nil {
		t.Fatal(err)
	}
	return b.Tree(), pack.Digest(b.Tree())
}

func openAt(t *testing.T, dir string) *Disk {
	t.Helper()
	d, err := OpenDisk(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

var named = types.NamespacedName{Namespace: "apps", Name: "app"}

// TestKilled ends the program before each operation of each change of the disk.
// Whatever the place, the store that is left verifies, the change can be made
// again, and a later sweep leaves nothing but what is referenced.
func TestKilled(t *testing.T) {
	other, otherContent := one(t, "other")
	tr, content := one(t, strings.Repeat("some ", 1000))
	file := Path(named, content)
	for name, c := range map[string]struct {
		before, change func(d *Disk) error
		// damaged: the store does not verify to begin with.
		damaged bool
	}{
		"put": {change: func(d *Disk) error {
			_, err := d.Put(t.Context(), named, tr, content)
			return err
		}},
		"put over a damaged one": {damaged: true, before: func(d *Disk) error {
			a, err := d.Put(t.Context(), named, tr, content)
			if err != nil {
				return err
			}
			return errors.Join(d.dir.Root.WriteFile(file, make([]byte, a.Size), 0o600), d.dir.Root.Remove(recordOf(file)))
		}, change: func(d *Disk) error {
			_, err := d.Put(t.Context(), named, tr, content)
			return err
		}},
		"sweep": {before: func(d *Disk) error {
			_, err := d.Put(t.Context(), named, tr, content)
			d.release(named)
			return err
		}, change: func(d *Disk) error {
			_, err := d.Sweep(t.Context(), Policy{Now: time.Now().Add(time.Minute)})
			return err
		}},
		"remove": {before: func(d *Disk) error {
			_, err := d.Put(t.Context(), named, tr, content)
			return err
		}, change: func(d *Disk) error {
			return d.Remove(t.Context(), named)
		}},
		"put under another algorithm": {before: func(d *Disk) error {
			_, err := d.Put(t.Context(), named, tr, content)
			d.digest = digest.SHA512
			return err
		}, change: func(d *Disk) error {
			_, err := d.Put(t.Context(), named, tr, content)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				dir := t.TempDir()
				d := openAt(t, dir)
				if _, err := d.Put(t.Context(), types.NamespacedName{Namespace: "apps", Name: "other"}, other, otherContent); err != nil {
					t.Fatal(err)
				}
				if c.before != nil {
					if err := c.before(d); err != nil {
						t.Fatal(err)
					}
				}
				hook, reached := killed(n)
				d.dir.Before = hook
				err := c.change(d)
				if !reached() {
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%d places", n)
					return
				}
				checkAfter(t, dir, fmt.Sprintf("killed before operation %d", n), c.damaged)
			}
		})
	}
}

func checkAfter(t *testing.T, dir, when string, damaged bool) {
	t.Helper()
	tr, content := one(t, strings.Repeat("some ", 1000))
	d := openAt(t, dir)
	file := Path(named, content)
	a, serr := Stat(d, file)
	if serr != nil && !isAbsent(serr) {
		t.Errorf("%s: %v", when, serr)
	}
	v, err := d.Verify(t.Context(), Check{})
	if err != nil || len(v.Corrupt) > 0 && !damaged || len(v.Corrupt) > 0 && serr == nil {
		t.Errorf("%s: verified %+v, %v", when, v, err)
	}
	again, err := d.Put(t.Context(), named, tr, content)
	if err != nil || serr == nil && (again.Size != a.Size || a.is(d.digest) && again != a) {
		t.Errorf("%s: put %+v after %+v, %v", when, again, a, err)
	}
	if _, err := d.Sweep(t.Context(), Policy{Now: time.Now().Add(2 * time.Hour), Referenced: map[string]bool{file: true}}); err != nil {
		t.Errorf("%s: %v", when, err)
	}
	var left []string
	if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		left = append(left, name)
		return err
	}); err != nil {
		t.Error(err)
	}
	if len(left) != 6 || left[4] != recordOf(file) || left[5] != file {
		t.Errorf("%s: left %q", when, left)
	}
}

// TestDiskFails fails each operation of a Put once. Nothing is left but
// directories, the error is the user's to see and names no temporary file, and
// the next Put succeeds.
func TestDiskFails(t *testing.T) {
	tr, content := one(t, "data")
	for _, cause := range []error{syscall.ENOSPC, syscall.EACCES, syscall.EIO, syscall.EROFS} {
		for n := 0; ; n++ {
			dir := t.TempDir()
			d := openAt(t, dir)
			done, failed := 0, ""
			d.dir.Before = func(op, _ string) error {
				if done++; done == n+1 {
					failed = op
					return cause
				}
				return nil
			}
			_, err := d.Put(t.Context(), named, tr, content)
			if failed == "" {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			f, ok := fail.As(err)
			if !ok || f.Reason != v1beta1.ReasonReconciliationFailed || f.Class != fail.Retry || !errors.Is(err, cause) {
				t.Errorf("%s fails with %v: %v", failed, cause, err)
			}
			if err != nil && strings.Contains(err.Error(), ".tmp") {
				t.Errorf("%s names a temporary file: %v", failed, err)
			}
			if files, err := filepath.Glob(filepath.Join(dir, path.Dir(Path(named, content)), "*")); err != nil || len(files) > 0 {
				t.Errorf("%s fails with %v: left %q", failed, cause, files)
			}
			if _, err := d.Put(t.Context(), named, tr, content); err != nil {
				t.Errorf("after %s failed: %v", failed, err)
			}
		}
	}
}

// TestOnePack puts one artifact many times at once: its file is made once.
func TestOnePack(t *testing.T) {
	d := openAt(t, t.TempDir())
	tr, content := one(t, "data")
	renames := make(chan string, 100)
	d.dir.Before = func(op, name string) error {
		if op == "rename" {
			renames <- name
		}
		return nil
	}
	errs := make(chan error)
	for range 16 {
		go func() {
			_, err := d.Put(t.Context(), named, tr, content)
			errs <- err
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if len(renames) != 1 || len(d.locks.used) != 0 {
		t.Errorf("%d files made, %d locks left", len(renames), len(d.locks.used))
	}
}

// TestSweptParent makes a directory whose parent a sweep removes meanwhile.
func TestSweptParent(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir)
	tr, content := one(t, "data")
	swept := false
	d.dir.Before = func(op, name string) error {
		if op == "mkdir" && path.Base(name) == "app" && !swept {
			swept = true
			return os.Remove(filepath.Join(dir, "externalartifact", "apps"))
		}
		return nil
	}
	if _, err := d.Put(t.Context(), named, tr, content); err != nil || !swept {
		t.Error(err)
	}
}
