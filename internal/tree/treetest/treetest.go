// Package treetest makes trees out of txtar archives and prints them, so that
// tests can be data.
package treetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/tree"
)

// Sources returns the trees of the files in/ALIAS/PATH of an archive, by
// alias. A file in/ALIAS/X.tgz!/P is the entry P of a tarball. The file "exec"
// lists the paths of executable files and the file "dirs" those of empty
// directories, one a line as ALIAS/PATH.
func Sources(t testing.TB, a *txtar.Archive) map[string]tree.Tree {
	t.Helper()
	builders := map[string]*tree.Builder{}
	at := func(name string) (*tree.Builder, string) {
		alias, rest, _ := strings.Cut(name, "/")
		if builders[alias] == nil {
			builders[alias] = &tree.Builder{}
		}
		return builders[alias], rest
	}
	executable := map[string]bool{}
	for _, name := range Lines(a, "exec") {
		executable[name] = true
	}
	for name, data := range files(t, a) {
		b, rest := at(name)
		if err := b.AddFile(rest, executable[name], blob.Of(data)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range Lines(a, "dirs") {
		b, rest := at(name)
		if rest == "" {
			continue // an empty source
		}
		if err := b.AddDir(rest); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]tree.Tree{}
	for alias, b := range builders {
		out[alias] = b.Tree()
	}
	return out
}

// files returns what the archive has below in/, with tarballs made.
func files(t testing.TB, a *txtar.Archive) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	tarballs := map[string][]txtar.File{}
	for _, f := range a.Files {
		name, ok := strings.CutPrefix(f.Name, "in/")
		if !ok {
			continue
		}
		if tarball, inner, packed := strings.Cut(name, "!/"); packed {
			tarballs[tarball] = append(tarballs[tarball], txtar.File{Name: inner, Data: f.Data})
			continue
		}
		out[name] = f.Data
	}
	for name, entries := range tarballs {
		out[name] = tarball(t, entries)
	}
	return out
}

// tarball packs entries as they are named, however wrong. An entry whose text
// starts with "SYMLINK " is a link, and one that is named x.sh is executable.
func tarball(t testing.TB, entries []txtar.File) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, e := range entries {
		h := &tar.Header{Name: e.Name, Mode: 0o644, Size: int64(len(e.Data))}
		if target, ok := strings.CutPrefix(string(e.Data), "SYMLINK "); ok {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, strings.TrimSpace(target), 0
			e.Data = nil
		}
		if strings.HasSuffix(e.Name, ".sh") {
			h.Mode = 0o755
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(e.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Lines returns the lines of a file of an archive that are not empty and no
// comments.
func Lines(a *txtar.Archive, name string) []string {
	var out []string
	for _, f := range a.Files {
		if f.Name != name {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				out = append(out, line)
			}
		}
	}
	return out
}

// List prints a tree, a line for each file and each empty directory: the path,
// a * when it is executable, and the text quoted.
func List(t testing.TB, tr tree.Tree) []string {
	t.Helper()
	var out []string
	err := tr.Walk(".", func(e tree.Entry) error {
		switch {
		case e.Empty():
			out = append(out, e.Path+"/")
		case !e.IsDir():
			data, err := e.Blob.ReadAll()
			if err != nil {
				return err
			}
			mark := ""
			if e.Executable() {
				mark = "*"
			}
			out = append(out, fmt.Sprintf("%s%s %q", e.Path, mark, data))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Listing maps paths to contents; executables have " (x)" behind the path and
// directories without entries the content "<dir>".
func Listing(t testing.TB, tr tree.Tree) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := tr.Walk(".", func(e tree.Entry) error {
		switch {
		case e.Empty() && e.Path != ".":
			got[e.Path] = "<dir>"
		case e.IsDir():
		default:
			data, err := e.Blob.ReadAll()
			if err != nil {
				return err
			}
			name := e.Path
			if e.Executable() {
				name += " (x)"
			}
			got[name] = string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
