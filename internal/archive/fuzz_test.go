package archive_test

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weir-dev/weir/internal/archive"
	"github.com/weir-dev/weir/internal/tree"
)

func FuzzRead(f *testing.F) {
	seeds := [][]tar.Header{
		{file("a/b", "1"), hard("c", "a/b"), symlink("l", "a"), dir("d/e"), global},
		{file(strings.Repeat("long/", 60)+"x", "x")},
		{withMode(0o755, file("é", "22"))},
	}
	for _, s := range seeds {
		f.Add(raw(f, s...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := archive.Options{MaxBytes: 1 << 12, MaxEntries: 24}
		tr, err := read(zipped(t, data), o)
		if err != nil {
			return
		}
		if err := check(tr, o); err != nil {
			t.Error(err)
		}
	})
}

// FuzzReadCompressed feeds what need not be gzip.
func FuzzReadCompressed(f *testing.F) {
	f.Add(tarball(f, file("a/b", "1"), hard("c", "a/b")))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := archive.Options{MaxBytes: 1 << 12, MaxEntries: 24}
		if tr, err := read(data, o); err == nil {
			if err := check(tr, o); err != nil {
				t.Error(err)
			}
		}
	})
}

// check tests what holds for every tree that Read returns.
func check(tr tree.Tree, o archive.Options) error {
	var bytes int64
	var names []string
	err := tr.Walk(".", func(e tree.Entry) error {
		if name, err := archive.Name(e.Path); err != nil || name != e.Path || !fs.ValidPath(e.Path) {
			return fmt.Errorf("%q is not a clean name: %w", e.Path, err)
		}
		bytes += e.Blob.Size()
		if e.Path != "." {
			names = append(names, e.Path)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case bytes > o.MaxBytes:
		return fmt.Errorf("%d bytes", bytes)
	case len(names) > o.MaxEntries:
		return fmt.Errorf("%d entries", len(names))
	}
	return fstest.TestFS(tr, names...)
}
