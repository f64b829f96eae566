package local

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/tree"
	"github.com/weir-dev/weir/internal/tree/treetest"
)

// mapFS returns a file system; a path that ends in a slash is a directory.
func mapFS(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, data := range files {
		if d, ok := strings.CutSuffix(name, "/"); ok {
			m[d] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		} else {
			m[name] = &fstest.MapFile{Data: []byte(data), Mode: 0o644}
		}
	}
	return m
}

func TestSourceIgnore(t *testing.T) {
	for name, c := range map[string]struct {
		in   map[string]string
		want string // the paths that are left, in order
	}{
		"the default list": {
			map[string]string{
				"k.yaml": "", "logo.png": "", "P.PNG": "", "a.tar.gz": "", "c.tgz": "", "d/x.zip": "", "d/k": "",
				".git/HEAD": "", "sub/.git": "", ".gitignore": "", ".github/w.yml": "", "d/.sops.yaml": "", ".travis.yml": "",
			},
			"P.PNG c.tgz d/k k.yaml sub",
		},
		"a pattern file, which stays":     {map[string]string{".sourceignore": "*.txt\n# no\n\n", "a.txt": "", "d/b.txt": "", "k": ""}, ".sourceignore d k"},
		"patterns of a directory":         {map[string]string{"a/.sourceignore": "/x\n", "a/x": "", "a/b/x": "", "x": ""}, "a/.sourceignore a/b/x x"},
		"the deeper one wins":             {map[string]string{".sourceignore": "*.txt\n", "a/.sourceignore": "!keep.txt\n", "a/keep.txt": "", "keep.txt": ""}, ".sourceignore a/.sourceignore a/keep.txt"},
		"a sibling has no say":            {map[string]string{"a/.sourceignore": "*\n", "a/x": "", "ab/x": ""}, "a ab/x"},
		"all but one directory":           {map[string]string{".sourceignore": "/*\n!/deploy\n", "x": "", "deploy/k": "", "other/k": ""}, "deploy/k"},
		"back from an ignored directory":  {map[string]string{".sourceignore": "/*\n!/a/b\n", "a/x": "", "a/b/k": ""}, "a/b/k"},
		"a default brought back":          {map[string]string{".sourceignore": "!*.png\n", "a.png": ""}, ".sourceignore a.png"},
		"ignored patterns count as well":  {map[string]string{".sourceignore": "a/\n", "a/.sourceignore": "!k\n", "a/k": "", "a/x": ""}, ".sourceignore a/k"},
		"a directory is named like one":   {map[string]string{"d.png/x": "", "e/": ""}, "e"},
		"the pattern file is a directory": {map[string]string{".sourceignore/x": ""}, ".sourceignore/x"},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := packageFS(t.Context(), mapFS(c.in), blob.Memory{}, Options{MaxBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			_ = tr.Walk(".", func(e tree.Entry) error {
				if e.Path != "." && (!e.IsDir() || e.Empty()) {
					got = append(got, e.Path)
				}
				return nil
			})
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPackagingTakesFilesOnly(t *testing.T) {
	m := mapFS(map[string]string{"a": "1", ".git/HEAD": "h", "logo.png": "p", ".sourceignore": "*", "e/": ""})
	m["run"] = &fstest.MapFile{Data: []byte("2"), Mode: 0o4711}
	m["link"] = &fstest.MapFile{Data: []byte("a"), Mode: fs.ModeSymlink | 0o777}
	m["fifo"] = &fstest.MapFile{Mode: fs.ModeNamedPipe | 0o644}
	m["module"] = &fstest.MapFile{Mode: fs.ModeIrregular}
	tr, err := packageFS(t.Context(), m, blob.Memory{}, Options{NoSourceIgnore: true, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "1", ".git/HEAD": "h", "logo.png": "p", ".sourceignore": "*", "e": "<dir>", "run (x)": "2"}
	if diff := cmp.Diff(want, treetest.Listing(t, tr)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// oddFS fails, grows or changes one file.
type oddFS struct {
	fs.FS
	name string
	open func() (fs.File, error)
}

func (o oddFS) Open(name string) (fs.File, error) {
	if name == o.name {
		return o.open()
	}
	return o.FS.Open(name)
}

// growing is a file that never ends.
type growing struct{ fs.File }

func (growing) Read(p []byte) (int, error) { return len(p), nil }

type broken struct{ fs.File }

var errDisk = errors.New("input/output error")

func (broken) Read(p []byte) (int, error) { return iotest.ErrReader(errDisk).Read(p) }

func TestPackagingRefuses(t *testing.T) {
	m := mapFS(map[string]string{"d/a": "12", "d/b": "345", "d/sub/": ""})
	pathErr := &fs.PathError{Op: "open", Path: "d/a", Err: fs.ErrPermission}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		fs   fs.FS
		max  int64
		want string
	}{
		"an unreadable file":      {t.Context(), oddFS{m, "d/a", func() (fs.File, error) { return nil, pathErr }}, 10, "open d/a: permission denied"},
		"an unreadable directory": {t.Context(), oddFS{m, "d", func() (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: "d", Err: fs.ErrPermission} }}, 10, "open d: permission denied"},
		"a file that breaks":      {t.Context(), oddFS{m, "d/a", func() (fs.File, error) { f, err := m.Open("d/a"); return broken{f}, err }}, 10, `reading "d/a": input/output error`},
		"a file without end":      {t.Context(), oddFS{m, "d/a", func() (fs.File, error) { f, err := m.Open("d/a"); return growing{f}, err }}, 1 << 20, `more than 1048576 bytes of files, at "d/a"`},
		"too much together":       {t.Context(), m, 4, `more than 4 bytes of files, at "d/b"`},
		"a backslash":             {t.Context(), mapFS(map[string]string{`d/a\b`: ""}), 10, `"d/a\\b" cannot be in an artifact: invalid name: backslash inside`},
		"a line end":              {t.Context(), mapFS(map[string]string{"a\nb": ""}), 10, `"a\nb" cannot be in an artifact: invalid name: NUL or line end inside`},
		"no time left":            {done, m, 10, "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := packageFS(c.ctx, c.fs, blob.Memory{}, Options{MaxBytes: c.max})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want …%s…", err, c.want)
			}
		})
	}
	if _, err := packageFS(t.Context(), m, blob.Memory{}, Options{MaxBytes: 5}); err != nil {
		t.Errorf("exactly as much as allowed: %v", err)
	}
}

// bottomless holds itself, as a small commit can hold a billion directories.
type bottomless struct{ fs.FS }

func (bottomless) ReadDir(name string) ([]fs.DirEntry, error) {
	e := fs.FileInfoToDirEntry(gitInfo{name: "d", mode: fs.ModeDir})
	if strings.Count(name, "/") > 3 {
		return make([]fs.DirEntry, 1<<20), nil
	}
	return []fs.DirEntry{e}, nil
}

func TestPackagingEnds(t *testing.T) {
	_, err := packageFS(t.Context(), bottomless{}, blob.Memory{}, Options{NoSourceIgnore: true})
	if err == nil || !strings.Contains(err.Error(), "more than 1000000 files and directories") {
		t.Errorf("got %v", err)
	}
}

// TestFileBecomesDirectory: what is no regular file any more is left out.
func TestFileBecomesDirectory(t *testing.T) {
	m := mapFS(map[string]string{"a": "1", "b": "2", "d/": ""})
	odd := oddFS{m, "a", func() (fs.File, error) { return m.Open("d") }}
	tr, err := packageFS(t.Context(), odd, blob.Memory{}, Options{MaxBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"b": "2", "d": "<dir>"}, treetest.Listing(t, tr)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
