package local_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/local"
	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/tree"
)

func sample(t *testing.T) tree.Tree {
	t.Helper()
	var b tree.Builder
	err := errors.Join(
		b.AddFile("k.yaml", false, blob.Of([]byte("k"))),
		b.AddFile("d/run.sh", true, blob.Of([]byte("r"))),
		b.AddDir("empty"),
	)
	if err != nil {
		t.Fatal(err)
	}
	return b.Tree()
}

func output(t *testing.T, dir string) *local.Output {
	t.Helper()
	o, err := local.NewOutput(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// names returns what dir holds.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestOutputTarball(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new/out")
	for range 2 { // the second time over the first
		r, err := output(t, dir).Tarball("apps/web.tar.gz", sample(t))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "apps/web.tar.gz"))
		if err != nil || sha256.Sum256(data) != r.Digest || int64(len(data)) != r.Size || r.Files != 2 {
			t.Errorf("%+v is not about the file, %v", r, err)
		}
		if got := names(t, filepath.Join(dir, "apps")); len(got) != 1 {
			t.Errorf("the directory holds %q", got)
		}
	}
	s, _ := open(t, filepath.Join(dir, "apps/web.tar.gz"), local.Options{})
	if pack.Digest(s.Tree) != pack.Digest(sample(t)) {
		t.Error("other content came back")
	}
}

// TestWriteTarballFails leaves what was there and nothing else.
func TestOutputTarballFails(t *testing.T) {
	p, err := blob.NewPack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Put(strings.NewReader("x"))
	if err := errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	var edit tree.Builder
	if err := edit.AddFile("gone", false, b); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{"apps/web.tar.gz": "before"})
	if _, err := output(t, dir).Tarball("apps/web.tar.gz", edit.Tree()); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "apps/web.tar.gz"))
	if got := names(t, filepath.Join(dir, "apps")); err != nil || string(data) != "before" || len(got) != 1 {
		t.Errorf("the directory holds %q, the file %q, %v", got, data, err)
	}
}

func TestOutputTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := output(t, dir).Tree(t.Context(), "apps/web", sample(t), false); err != nil {
		t.Fatal(err)
	}
	s, _ := open(t, filepath.Join(dir, "apps/web"), local.Options{NoSourceIgnore: true})
	if pack.Digest(s.Tree) != pack.Digest(sample(t)) {
		t.Error("other content came back")
	}
	edit := sample(t).Edit()
	if err := edit.AddFile("k.yaml", false, blob.Of([]byte("new"))); err != nil {
		t.Fatal(err)
	}
	if err := output(t, dir).Tree(t.Context(), "apps/web", edit.Tree(), false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over what is there: %v", err)
	}
	if err := output(t, dir).Tree(t.Context(), "apps/web", edit.Tree(), true); err != nil {
		t.Errorf("in its place: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "apps/web/k.yaml")); err != nil || string(data) != "new" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if got := names(t, filepath.Join(dir, "apps")); len(got) != 1 {
		t.Errorf("the directory holds %q", got)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "apps/blank"), 0o755), output(t, dir).Tree(t.Context(), "apps/blank", sample(t), false)); err != nil {
		t.Errorf("into an empty directory: %v", err)
	}
}

func TestOutputTreeEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := output(t, dir).Tree(ctx, "apps/web", sample(t), false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if got := names(t, filepath.Join(dir, "apps")); len(got) != 0 {
		t.Errorf("the directory holds %q", got)
	}
}

func TestWritesStayInside(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	err := errors.Join(os.Symlink(outside, filepath.Join(dir, "apps")), os.Mkdir(filepath.Join(dir, "ok"), 0o755), os.Symlink(outside, filepath.Join(dir, "ok/web")))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"apps/web", "apps/x/web", "../web", "ok/web"} {
		if err := output(t, dir).Tree(t.Context(), name, sample(t), false); err == nil {
			t.Errorf("Tree %q: no error", name)
		}
	}
	for _, name := range []string{"apps/web.tar.gz", "../web.tar.gz", "ok/web/a.tar.gz"} {
		if _, err := output(t, dir).Tarball(name, sample(t)); err == nil {
			t.Errorf("Tarball %q: no error", name)
		}
	}
	// A link in the place of the file itself is replaced, not followed.
	if _, err := output(t, dir).Tarball("ok/web", sample(t)); err != nil {
		t.Error(err)
	}
	if got := names(t, outside); len(got) != 0 {
		t.Errorf("outside there are now %q", got)
	}
}
