package tree

import (
	"io"
	"io/fs"
	"path"
	"time"
)

// The interfaces of io/fs that a Tree has beyond Open, so that callers pay no
// detour through file handles.
var (
	_ fs.StatFS     = Tree{}
	_ fs.ReadDirFS  = Tree{}
	_ fs.ReadFileFS = Tree{}
)

func (t Tree) find(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e, ok := t.Lookup(name)
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return e.node, nil
}

// Open implements [fs.FS].
func (t Tree) Open(name string) (fs.File, error) {
	n, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return &dirFile{info: info{path.Base(name), n}}, nil
	}
	return &file{SectionReader: n.blob.Open(), info: info{path.Base(name), n}}, nil
}

// Stat implements [fs.StatFS].
func (t Tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return info{path.Base(name), n}, nil
}

// ReadDir implements [fs.ReadDirFS].
func (t Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: ErrNotDir}
	}
	return n.entries(), nil
}

// ReadFile implements [fs.ReadFileFS].
func (t Tree) ReadFile(name string) ([]byte, error) {
	n, err := t.find("read", name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrIsDir}
	}
	data, err := n.blob.ReadAll()
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return data, nil
}

func (n *node) entries() []fs.DirEntry {
	out := make([]fs.DirEntry, len(n.kids))
	for i, k := range n.kids {
		out[i] = info(k)
	}
	return out
}

// info is a node under a name, as both [fs.FileInfo] and [fs.DirEntry].
type info struct {
	name string
	node *node
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.node.blob.Size() }
func (i info) Mode() fs.FileMode          { return i.node.mode() }
func (i info) Type() fs.FileMode          { return i.node.mode().Type() }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) IsDir() bool                { return i.node.dir }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }
func (i info) String() string             { return fs.FormatFileInfo(i) }

type file struct {
	*io.SectionReader
	info info
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

type dirFile struct {
	info info
	read int
}

func (d *dirFile) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *dirFile) Close() error               { return nil }

func (d *dirFile) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: ErrIsDir}
}

// ReadDir implements [fs.ReadDirFile].
func (d *dirFile) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := d.info.node.entries()[d.read:]
	if n > 0 {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		rest = rest[:min(n, len(rest))]
	}
	d.read += len(rest)
	return rest, nil
}
