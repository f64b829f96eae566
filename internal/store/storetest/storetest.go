// Package storetest is the test suite of implementations of [store.Store].
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/archive"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/internal/tree"
)

// Tree returns a tree of files by path. A path that ends in a slash is an empty
// directory, one that ends in an asterisk an executable file.
func Tree(t testing.TB, files map[string]string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for name, data := range files {
		var err error
		if d, ok := strings.CutSuffix(name, "/"); ok {
			err = b.AddDir(d)
		} else {
			name, exec := strings.CutSuffix(name, "*")
			err = b.AddFile(name, exec, blob.Of([]byte(data)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// Put puts tr and fails the test when that fails or the result is not about it.
func Put(t testing.TB, s store.Store, name types.NamespacedName, tr tree.Tree) store.Artifact {
	t.Helper()
	content := pack.Digest(tr)
	a, err := s.Put(t.Context(), name, tr, content)
	if err != nil {
		t.Error(err)
		return a
	}
	if a.Path != store.Path(name, content) {
		t.Errorf("stored at %q, want %q", a.Path, store.Path(name, content))
	}
	return a
}

// Check fails the test unless s has the artifact a with the content of tr.
func Check(t testing.TB, s store.Store, a store.Artifact, tr tree.Tree) {
	t.Helper()
	f, err := s.Open(a.Path)
	if err != nil {
		t.Error(err)
		return
	}
	data, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Error(err)
	}
	if f.Artifact != a {
		t.Errorf("opened %+v, put %+v", f.Artifact, a)
	}
	if !isOf(a.Digest, data) || int64(len(data)) != a.Size {
		t.Errorf("%s has %d bytes that are not those of %+v", a.Path, len(data), a)
	}
	got, err := archive.Read(bytes.NewReader(data), blob.Memory{}, archive.Options{Links: archive.Refuse})
	if err != nil || pack.Digest(got) != pack.Digest(tr) {
		t.Errorf("%s has another content: %v", a.Path, err)
	}
}

// isOf reports whether text is the digest of data.
func isOf(text string, data []byte) bool {
	d, err := digest.Parse(text)
	if err != nil {
		return false
	}
	h := d.New()
	h.Write(data)
	return d.Is(h)
}

// Gone fails the test unless s has no artifact at path.
func Gone(t testing.TB, s store.Store, path string) {
	t.Helper()
	f, err := s.Open(path)
	if err == nil {
		_ = f.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening %q: got %v, want an error that wraps fs.ErrNotExist", path, err)
	}
}

var app = types.NamespacedName{Namespace: "apps", Name: "app"}

// Run runs the suite on stores that open returns empty.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for name, test := range map[string]func(*testing.T, store.Store){
		"put and open":              putAndOpen,
		"put again":                 putAgain,
		"O9 a path keeps its bytes": pathsKeep,
		"names":                     names,
		"other paths":               otherPaths,
		"remove":                    remove,
		"an open file stays":        openStays,
		"at the same time":          together,
		"cancelled":                 cancelled,
		"a source that fails":       sourceFails,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func putAndOpen(t *testing.T, s store.Store) {
	for _, files := range []map[string]string{nil, {"a": "1"}, {"d/": "", "x*": "#!", "y/z": strings.Repeat("long ", 1e5)}} {
		tr := Tree(t, files)
		a := Put(t, s, app, tr)
		if want := fmt.Sprintf("externalartifact/apps/app/%s.tar.gz", pack.Digest(tr)); a.Path != want {
			t.Errorf("the path is %q, want %q", a.Path, want)
		}
		Check(t, s, a, tr)
		if got, err := store.Stat(s, a.Path); err != nil || got != a {
			t.Errorf("Stat: %+v, %v", got, err)
		}
	}
}

func putAgain(t *testing.T, s store.Store) {
	tr, other := Tree(t, map[string]string{"a": "1"}), Tree(t, map[string]string{"a": "2"})
	first := Put(t, s, app, tr)
	Put(t, s, app, other)
	if again := Put(t, s, app, tr); again != first {
		t.Errorf("got %+v, then %+v", first, again)
	}
	Check(t, s, first, tr)
}

// pathsKeep is the fault that a changed mode or an empty directory replaced the
// bytes behind an URL.
func pathsKeep(t *testing.T, s store.Store) {
	trees := []tree.Tree{
		Tree(t, map[string]string{"a": "1"}),
		Tree(t, map[string]string{"a*": "1"}),
		Tree(t, map[string]string{"a": "1", "d/": ""}),
		Tree(t, map[string]string{"a": "1", "logo.png": ""}),
	}
	paths := map[string]bool{}
	artifacts := make([]store.Artifact, len(trees))
	for i, tr := range trees {
		artifacts[i] = Put(t, s, app, tr)
		paths[artifacts[i].Path] = true
	}
	if len(paths) != len(trees) {
		t.Errorf("%d contents have %d paths", len(trees), len(paths))
	}
	for i, a := range artifacts {
		Check(t, s, a, trees[i])
	}
}

func names(t *testing.T, s store.Store) {
	tr := Tree(t, map[string]string{"a": "1"})
	digests := map[string]bool{}
	for _, name := range []types.NamespacedName{
		app, {Namespace: "apps", Name: "rel.tar.gz"}, {Namespace: "other", Name: "app"}, {Namespace: "a", Name: strings.Repeat("a.", 126) + "a"},
	} {
		a := Put(t, s, name, tr)
		Check(t, s, a, tr)
		digests[a.Digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("one content has %d digests", len(digests))
	}
	for _, name := range []types.NamespacedName{
		{}, {Namespace: "apps"}, {Name: "app"}, {Namespace: "..", Name: "app"}, {Namespace: "apps", Name: ".."}, {Namespace: "apps", Name: "."},
		{Namespace: "apps", Name: "a/b"}, {Namespace: "a/b", Name: "app"}, {Namespace: "apps", Name: ".tmp-x"}, {Namespace: "a.b", Name: "app"},
		{Namespace: "apps", Name: "App"}, {Namespace: "apps", Name: "a\x00"}, {Namespace: "apps", Name: strings.Repeat("a", 254)},
	} {
		_, err := s.Put(t.Context(), name, tr, pack.Digest(tr))
		if f, ok := fail.As(err); !ok || f.Reason != v1beta1.ReasonValidationFailed || f.Class != fail.Stall {
			t.Errorf("put %q: %v", name, err)
		}
		if err := s.Remove(t.Context(), name); err == nil {
			t.Errorf("remove %q: no error", name)
		}
	}
}

func otherPaths(t *testing.T, s store.Store) {
	a := Put(t, s, app, Tree(t, nil))
	dir, base := path.Split(a.Path)
	for _, p := range []string{
		"", ".", "/", "..", "externalartifact", "externalartifact/apps", dir, dir + ".", dir + "x.tar.gz", "/" + a.Path, a.Path + "/", a.Path + "/.",
		"./" + a.Path, dir + "/" + base, dir + "../app/" + base, strings.ToUpper(a.Path), dir + strings.ToUpper(base[:64]) + base[64:],
		"externalartifact/apps/none/" + base, a.Path + ".lock", a.Path + "\x00", dir + "." + base[:64] + ".sum", dir + base[:64],
	} {
		Gone(t, s, p)
	}
}

func remove(t *testing.T, s store.Store) {
	one, two := Tree(t, map[string]string{"a": "1"}), Tree(t, map[string]string{"a": "2"})
	a, b := Put(t, s, app, one), Put(t, s, app, two)
	other := Put(t, s, types.NamespacedName{Namespace: "apps", Name: "app2"}, one)
	for range 2 {
		if err := s.Remove(t.Context(), app); err != nil {
			t.Fatal(err)
		}
		Gone(t, s, a.Path)
		Gone(t, s, b.Path)
		Check(t, s, other, one)
	}
	Put(t, s, app, one)
	Check(t, s, a, one)
}

func openStays(t *testing.T, s store.Store) {
	a := Put(t, s, app, Tree(t, map[string]string{"a": "1"}))
	f, err := s.Open(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err != nil || !isOf(a.Digest, data) {
		t.Errorf("read %d bytes after a removal: %v", len(data), err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func together(t *testing.T, s store.Store) {
	trees := make([]tree.Tree, 6)
	for i := range trees {
		trees[i] = Tree(t, map[string]string{"a": strings.Repeat(strconv.Itoa(i), 1000*i)})
	}
	got := make([][]store.Artifact, 8)
	var wg sync.WaitGroup
	for w := range got {
		got[w] = make([]store.Artifact, 2*len(trees))
		wg.Go(func() {
			for i := range got[w] {
				i = (i + w) % len(got[w])
				name := types.NamespacedName{Namespace: "apps", Name: fmt.Sprint("app", i%2)}
				got[w][i] = Put(t, s, name, trees[i/2])
				Check(t, s, got[w][i], trees[i/2])
			}
		})
		// One that comes and goes beside them.
		wg.Go(func() {
			name := types.NamespacedName{Namespace: "gone", Name: "app"}
			for range 5 {
				Put(t, s, name, trees[1])
				if err := s.Remove(t.Context(), name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for w := range got {
		for i := range got[w] {
			if got[w][i] != got[0][i] {
				t.Errorf("%+v and %+v", got[w][i], got[0][i])
			}
		}
	}
}

func cancelled(t *testing.T, s store.Store) {
	tr := Tree(t, map[string]string{"a": "1"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, app, tr, pack.Digest(tr)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	Gone(t, s, store.Path(app, pack.Digest(tr)))
	Check(t, s, Put(t, s, app, tr), tr)
}

// sourceFails packs a tree whose source has gone.
func sourceFails(t *testing.T, s store.Store) {
	source, err := blob.NewPack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := source.Put(strings.NewReader("x"))
	if err := errors.Join(err, source.Close()); err != nil {
		t.Fatal(err)
	}
	var edit tree.Builder
	if err := edit.AddFile("a", false, b); err != nil {
		t.Fatal(err)
	}
	tr := edit.Tree()
	_, err = s.Put(t.Context(), app, tr, pack.Digest(tr))
	if f, ok := fail.As(err); !ok || f.Reason != v1beta1.ReasonReconciliationFailed || f.Class != fail.Retry {
		t.Errorf("got %v", err)
	}
	Gone(t, s, store.Path(app, pack.Digest(tr)))
}
