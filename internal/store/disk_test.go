package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/internal/store/storetest"
)

var app = types.NamespacedName{Namespace: "apps", Name: "app"}

func open(t testing.TB, dir string) *store.Disk {
	t.Helper()
	return openWith(t, dir, store.Options{})
}

func openWith(t testing.TB, dir string, o store.Options) *store.Disk {
	t.Helper()
	d, err := store.OpenDisk(dir, o)
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

func TestDisk(t *testing.T) {
	for _, a := range []digest.Algorithm{digest.SHA256, digest.SHA384, digest.SHA512} {
		t.Run(a.String(), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store {
				return openWith(t, filepath.Join(t.TempDir(), "made"), store.Options{Digest: a})
			})
		})
	}
}

// An artifact that was packed under another algorithm gets a new digest when it
// is put again, and keeps its file: consumers that hold the old digest get
// what they ask for.
func TestAnotherAlgorithm(t *testing.T) {
	dir := t.TempDir()
	tr := storetest.Tree(t, map[string]string{"a": "1"})
	was := storetest.Put(t, open(t, dir), app, tr)
	before, err := os.Stat(filepath.Join(dir, was.Path))
	if err != nil {
		t.Fatal(err)
	}
	d := openWith(t, dir, store.Options{Digest: digest.SHA512})
	storetest.Check(t, d, was, tr)
	is := storetest.Put(t, d, app, tr)
	if !strings.HasPrefix(is.Digest, "sha512:") || is.Path != was.Path || is.Size != was.Size {
		t.Errorf("%+v became %+v", was, is)
	}
	storetest.Check(t, d, is, tr)
	after, err := os.Stat(filepath.Join(dir, was.Path))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was made again: %v", err)
	}
	if v, err := d.Verify(t.Context(), store.Check{}); err != nil || v.Files != 1 || len(v.Corrupt) > 0 {
		t.Errorf("verified %+v, %v", v, err)
	}
	if files := paths(t, dir); len(files) != 2 {
		t.Errorf("the store has %q", files)
	}
	if got := storetest.Put(t, open(t, dir), app, tr); got != was {
		t.Errorf("back under the first algorithm it is %+v, and was %+v", got, was)
	}
}

// A damaged file does not get a digest that makes it a good one.
func TestAnotherAlgorithmOfADamagedFile(t *testing.T) {
	dir := t.TempDir()
	tr := storetest.Tree(t, map[string]string{"a": "1"})
	was := storetest.Put(t, open(t, dir), app, tr)
	write(t, filepath.Join(dir, was.Path), strings.Repeat("x", int(was.Size)))
	d := openWith(t, dir, store.Options{Digest: digest.SHA512})
	storetest.Check(t, d, storetest.Put(t, d, app, tr), tr)
}

func write(t *testing.T, name, data string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(data), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// paths returns the files below dir.
func paths(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRestart(t *testing.T) {
	dir := t.TempDir()
	tr := storetest.Tree(t, map[string]string{"a": "1"})
	first := open(t, dir)
	a := storetest.Put(t, first, app, tr)
	second := open(t, dir)
	storetest.Check(t, second, a, tr)
	if again := storetest.Put(t, second, app, tr); again != a {
		t.Errorf("got %+v, then %+v", a, again)
	}
	if got := paths(t, dir); len(got) != 2 {
		t.Errorf("the store has %q", got)
	}
}

// TestDamage has the states of a disk that a crash of the machine, or somebody
// with access to it, can leave. In none of them is the artifact served or taken
// for the right one, and a Put heals each.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, tarball, record string){
		"no record":              func(t *testing.T, _, r string) { do(t, os.Remove(r)) },
		"an empty record":        func(t *testing.T, _, r string) { write(t, r, "") },
		"half a record":          func(t *testing.T, _, r string) { do(t, os.Truncate(r, 40)) },
		"a record without end":   func(t *testing.T, _, r string) { cut(t, r, 1) },
		"a size cut short":       func(t *testing.T, _, r string) { cut(t, r, 2) },
		"a record with a tail":   func(t *testing.T, _, r string) { write(t, r, read(t, r)+"x") },
		"no tarball":             func(t *testing.T, f, _ string) { do(t, os.Remove(f)) },
		"an empty tarball":       func(t *testing.T, f, _ string) { write(t, f, "") },
		"half a tarball":         func(t *testing.T, f, _ string) { cut(t, f, 7) },
		"a longer tarball":       func(t *testing.T, f, _ string) { write(t, f, read(t, f)+"x") },
		"a link to another file": func(t *testing.T, f, _ string) { do(t, os.Rename(f, f+".x"), os.Symlink(f+".x", f)) },
		"an empty directory":     func(t *testing.T, f, _ string) { do(t, os.Remove(f), os.Mkdir(f, 0o700)) },
		"nothing":                func(t *testing.T, f, _ string) { do(t, os.RemoveAll(filepath.Dir(filepath.Dir(f)))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := open(t, dir)
			tr := storetest.Tree(t, map[string]string{"a": "1"})
			a := storetest.Put(t, d, app, tr)
			tarball := filepath.Join(dir, a.Path)
			hex := strings.TrimSuffix(filepath.Base(tarball), ".tar.gz")
			damage(t, tarball, filepath.Join(filepath.Dir(tarball), "."+hex+".sum"))

			storetest.Gone(t, d, a.Path)
			v, err := d.Verify(t.Context(), store.Check{Referenced: []string{a.Path}})
			if err != nil || len(v.Missing) != 1 {
				t.Errorf("verified: %+v, %v", v, err)
			}
			if again := storetest.Put(t, d, app, tr); again != a {
				t.Errorf("got %+v, then %+v", a, again)
			}
			storetest.Check(t, d, a, tr)
		})
	}
}

func do(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	do(t, err)
	return string(data)
}

func cut(t *testing.T, name string, n int) {
	t.Helper()
	data := read(t, name)
	write(t, name, data[:len(data)-n])
}

func TestLinksLeadNowhere(t *testing.T) {
	dir := t.TempDir()
	d := open(t, filepath.Join(dir, "store"))
	tr := storetest.Tree(t, map[string]string{"a": "1"})
	a := storetest.Put(t, d, app, tr)
	outside := filepath.Join(dir, "outside")
	artifact := filepath.Join(dir, "store", "externalartifact", "apps", "app")
	do(t, os.Rename(artifact, outside), os.Symlink(outside, artifact))
	if f, err := d.Open(a.Path); err == nil {
		_ = f.Close()
		t.Error("opened a file outside")
	}
	if _, err := d.Verify(t.Context(), store.Check{}); err != nil {
		t.Error(err)
	}
	if _, err := d.Sweep(t.Context(), store.Policy{}); err != nil {
		t.Error(err)
	}
	do(t, d.Remove(t.Context(), app))
	if got := paths(t, outside); len(got) != 2 {
		t.Errorf("what is outside has changed: %q", got)
	}
}

// BenchmarkPut puts a generator's 200 artifacts by as many callers at a time.
func BenchmarkPut(b *testing.B) {
	tr := storetest.Tree(b, map[string]string{"kustomization.yaml": "resources: []\n", "deployment.yaml": strings.Repeat("a: b\n", 400)})
	for _, callers := range []int{1, 4, 16, 64} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				d := open(b, b.TempDir())
				b.StartTimer()
				var g errgroup.Group
				g.SetLimit(callers)
				for i := range 200 {
					g.Go(func() error {
						storetest.Put(b, d, types.NamespacedName{Namespace: "apps", Name: strconv.Itoa(i)}, tr)
						return nil
					})
				}
				_ = g.Wait()
			}
		})
	}
}

func BenchmarkPutAgain(b *testing.B) {
	tr := storetest.Tree(b, map[string]string{"kustomization.yaml": "resources: []\n"})
	d := open(b, b.TempDir())
	b.ReportAllocs()
	for b.Loop() {
		storetest.Put(b, d, app, tr)
	}
}
