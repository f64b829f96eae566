package local

import (
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// gitFS is the tree of a commit as a file system, read from the repository's
// objects. A directory must be listed before what it holds can be listed or
// opened, and cannot be opened itself.
type gitFS struct {
	store  storer.EncodedObjectStorer
	listed map[string]*object.Tree
}

func newGitFS(s storer.EncodedObjectStorer, root *object.Tree) gitFS {
	return gitFS{s, map[string]*object.Tree{".": root}}
}

// find returns what is at name.
func (g gitFS) find(name string) (*object.TreeEntry, error) {
	t := g.listed[path.Dir(name)]
	if t == nil {
		return nil, fs.ErrNotExist
	}
	return t.FindEntry(path.Base(name))
}

func (g gitFS) dir(name string) (*object.Tree, error) {
	if t := g.listed[name]; t != nil {
		return t, nil
	}
	e, err := g.find(name)
	if err != nil {
		return nil, err
	}
	t, err := object.GetTree(g.store, e.Hash)
	if err != nil {
		return nil, err
	}
	g.listed[name] = t
	return t, nil
}

// ReadDir implements [fs.ReadDirFS].
func (g gitFS) ReadDir(name string) ([]fs.DirEntry, error) {
	t, err := g.dir(name)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	out := make([]fs.DirEntry, len(t.Entries))
	for i, e := range t.Entries {
		out[i] = gitInfo{name: e.Name, mode: gitMode(e.Mode)}
	}
	return out, nil
}

// Open implements [fs.FS] for files.
func (g gitFS) Open(name string) (fs.File, error) {
	f, err := g.open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

func (g gitFS) open(name string) (fs.File, error) {
	e, err := g.find(name)
	if err != nil {
		return nil, err
	}
	b, err := object.GetBlob(g.store, e.Hash)
	if err != nil {
		return nil, err
	}
	r, err := b.Reader()
	if err != nil {
		return nil, err
	}
	return gitFile{r, gitInfo{path.Base(name), gitMode(e.Mode), b.Size}}, nil
}

// gitMode returns the mode of what a tree of Git holds. Submodules have no
// counterpart and are irregular.
func gitMode(m filemode.FileMode) fs.FileMode {
	switch m {
	case filemode.Dir:
		return fs.ModeDir | 0o755
	case filemode.Regular, filemode.Deprecated:
		return 0o644
	case filemode.Executable:
		return 0o755
	case filemode.Symlink:
		return fs.ModeSymlink | 0o777
	default:
		return fs.ModeIrregular
	}
}

type gitInfo struct {
	name string
	mode fs.FileMode
	size int64
}

func (i gitInfo) Name() string               { return i.name }
func (i gitInfo) Size() int64                { return i.size }
func (i gitInfo) Mode() fs.FileMode          { return i.mode }
func (i gitInfo) Type() fs.FileMode          { return i.mode.Type() }
func (i gitInfo) ModTime() time.Time         { return time.Time{} }
func (i gitInfo) IsDir() bool                { return i.mode.IsDir() }
func (i gitInfo) Sys() any                   { return nil }
func (i gitInfo) Info() (fs.FileInfo, error) { return i, nil }

type gitFile struct {
	io.ReadCloser
	info gitInfo
}

func (f gitFile) Stat() (fs.FileInfo, error) { return f.info, nil }
