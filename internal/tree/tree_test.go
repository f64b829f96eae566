package tree_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/tree"
)

func build(t *testing.T, b *tree.Builder, files map[string]string) tree.Tree {
	t.Helper()
	for name, data := range files {
		if err := b.AddFile(name, false, blob.Of([]byte(data))); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

func listing(t *testing.T, tr tree.Tree) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := tr.Walk(".", func(e tree.Entry) error {
		if e.IsDir() {
			if e.Empty() && e.Path != "." {
				got[e.Path] = "<dir>"
			}
			return nil
		}
		data, err := e.Blob.ReadAll()
		got[e.Path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTreeIsAnFS(t *testing.T) {
	var b tree.Builder
	tr := build(t, &b, map[string]string{"a/b/c": "1", "a/d": "", "e": "22", "z.z/y y/é": "3"})
	if err := fstest.TestFS(tr, "a/b/c", "a/d", "e", "z.z/y y/é"); err != nil {
		t.Error(err)
	}
	if err := fstest.TestFS(tree.Tree{}); err != nil {
		t.Errorf("the empty tree: %v", err)
	}
}

func TestEditLeavesTheOriginal(t *testing.T) {
	var b tree.Builder
	first := build(t, &b, map[string]string{"a/x": "1", "b/y": "2"})
	second := build(t, first.Edit(), map[string]string{"a/x": "changed", "a/new": "3"})
	third := build(t, &b, map[string]string{"b/y": "from the same builder"})

	for name, c := range map[string]struct {
		tree tree.Tree
		want map[string]string
	}{
		"first":  {first, map[string]string{"a/x": "1", "b/y": "2"}},
		"second": {second, map[string]string{"a/x": "changed", "a/new": "3", "b/y": "2"}},
		"third":  {third, map[string]string{"a/x": "1", "b/y": "from the same builder"}},
	} {
		if diff := cmp.Diff(c.want, listing(t, c.tree)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAddEntryMergesDirectories(t *testing.T) {
	var a, b tree.Builder
	src := build(t, &a, map[string]string{"dir/shared": "src", "dir/sub/only": "s", "other": "o"})
	dst := build(t, &b, map[string]string{"to/shared": "dst", "to/kept": "k"})

	dir, _ := src.Lookup("dir")
	root, _ := src.Lookup(".")
	edit := dst.Edit()
	for name, e := range map[string]tree.Entry{"to": dir, "fresh/place": dir, ".": root} {
		if err := edit.AddEntry(name, e); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"to/shared": "src", "to/kept": "k", "to/sub/only": "s",
		"fresh/place/shared": "src", "fresh/place/sub/only": "s",
		"dir/shared": "src", "dir/sub/only": "s", "other": "o",
	}
	if diff := cmp.Diff(want, listing(t, edit.Tree())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSharedDirectoryIsNotEdited(t *testing.T) {
	var a tree.Builder
	src := build(t, &a, map[string]string{"dir/f": "1"})
	dir, _ := src.Lookup("dir")
	var b tree.Builder
	if err := b.AddEntry("copy", dir); err != nil {
		t.Fatal(err)
	}
	got := build(t, &b, map[string]string{"copy/f": "2", "copy/g": "3"})
	if diff := cmp.Diff(map[string]string{"dir/f": "1"}, listing(t, src)); diff != "" {
		t.Errorf("the source changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"copy/f": "2", "copy/g": "3"}, listing(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBuilderRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		add  func(*tree.Builder) error
		want error
	}{
		"a file over a directory":    {func(b *tree.Builder) error { return b.AddFile("d", false, blob.Blob{}) }, tree.ErrIsDir},
		"a file over the root":       {func(b *tree.Builder) error { return b.AddFile(".", false, blob.Blob{}) }, tree.ErrIsDir},
		"a directory over a file":    {func(b *tree.Builder) error { return b.AddDir("d/f") }, tree.ErrNotDir},
		"a child of a file":          {func(b *tree.Builder) error { return b.AddFile("d/f/g", false, blob.Blob{}) }, tree.ErrNotDir},
		"a path that climbs":         {func(b *tree.Builder) error { return b.AddFile("../x", false, blob.Blob{}) }, fs.ErrInvalid},
		"an absolute path":           {func(b *tree.Builder) error { return b.AddDir("/x") }, fs.ErrInvalid},
		"a path that is not cleaned": {func(b *tree.Builder) error { return b.AddFile("a//b", false, blob.Blob{}) }, fs.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			var b tree.Builder
			if err := b.AddFile("d/f", true, blob.Of([]byte("x"))); err != nil {
				t.Fatal(err)
			}
			if err := c.add(&b); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if diff := cmp.Diff(map[string]string{"d/f": "x"}, listing(t, b.Tree())); diff != "" {
				t.Errorf("the tree changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWalkSkips(t *testing.T) {
	var b tree.Builder
	tr := build(t, &b, map[string]string{"a/b/c": "", "a/d": "", "e": ""})
	var got []string
	err := tr.Walk("a", func(e tree.Entry) error {
		got = append(got, e.Path)
		if e.Path == "a/b" {
			return fs.SkipDir
		}
		return nil
	})
	if diff := cmp.Diff([]string{"a", "a/b", "a/d"}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if err := tr.Walk("nope", func(tree.Entry) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("walking what is not there: %v", err)
	}
}
