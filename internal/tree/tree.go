// Package tree is an immutable file tree in memory whose files are references
// to blobs. Copying a directory shares it, whatever its size. A tree holds
// directories and regular files, executable or not: no links, owners or times.
package tree

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/blob"
)

// Tree is an immutable file tree and an [fs.FS]. The zero value is the empty
// tree. Concurrent use is safe.
type Tree struct{ root *node }

// node is a directory or a file. Nodes are shared between trees; one whose
// edit map is set belongs to the one [Builder] that made it and to no tree.
type node struct {
	dir  bool
	exec bool
	blob blob.Blob
	kids []kid
	edit map[string]*node
}

// kid is a named entry of a directory. The name is not part of the node, so
// that a node can stand under another name elsewhere.
type kid struct {
	name string
	node *node
}

var empty = &node{dir: true}

// Entry describes one file or directory of a tree.
type Entry struct {
	// Path is slash-separated and relative to the tree's root, which is ".".
	Path string
	// Blob holds the bytes of a file.
	Blob blob.Blob

	node *node
}

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.node.dir }

// Executable reports whether the entry is a file that may be executed.
func (e Entry) Executable() bool { return e.node.exec }

// Empty reports whether the entry is a directory without entries.
func (e Entry) Empty() bool { return e.node.dir && len(e.node.kids) == 0 }

// Mode returns the normalised mode: 0644 or 0755 for files, 0755 with
// [fs.ModeDir] for directories.
func (e Entry) Mode() fs.FileMode { return e.node.mode() }

func (n *node) mode() fs.FileMode {
	switch {
	case n.dir:
		return fs.ModeDir | 0o755
	case n.exec:
		return 0o755
	default:
		return 0o644
	}
}

func (n *node) child(name string) *node {
	i, ok := slices.BinarySearchFunc(n.kids, name, func(k kid, name string) int {
		return strings.Compare(k.name, name)
	})
	if !ok {
		return nil
	}
	return n.kids[i].node
}

func (t Tree) top() *node {
	if t.root == nil {
		return empty
	}
	return t.root
}

// Lookup returns the entry at a clean slash-separated path, "." being the
// root. It returns false when there is none.
func (t Tree) Lookup(name string) (Entry, bool) {
	n := t.top()
	if name != "." {
		for part := range strings.SplitSeq(name, "/") {
			if n = n.child(part); n == nil {
				return Entry{}, false
			}
		}
	}
	return Entry{Path: name, Blob: n.blob, node: n}, true
}

// Walk calls fn for the entry at name and for everything below it, parents
// first and names in byte order. When fn returns [fs.SkipDir] for a directory
// its content is left out; any other error ends the walk and is returned. A
// name that does not exist is an error wrapping [fs.ErrNotExist].
func (t Tree) Walk(name string, fn func(Entry) error) error {
	e, ok := t.Lookup(name)
	if !ok {
		return &fs.PathError{Op: "walk", Path: name, Err: fs.ErrNotExist}
	}
	return walk(e, fn)
}

func walk(e Entry, fn func(Entry) error) error {
	if err := fn(e); err != nil {
		if errors.Is(err, fs.SkipDir) && e.node.dir {
			return nil
		}
		return err
	}
	for _, k := range e.node.kids {
		if err := walk(Entry{Path: path.Join(e.Path, k.name), Blob: k.node.blob, node: k.node}, fn); err != nil {
			return err
		}
	}
	return nil
}

// Children calls fn for each entry of the directory e, names in byte order.
// It stops at the first error and returns it. A file has no children.
func (e Entry) Children(fn func(Entry) error) error {
	for _, k := range e.node.kids {
		if err := fn(Entry{Path: path.Join(e.Path, k.name), Blob: k.node.blob, node: k.node}); err != nil {
			return err
		}
	}
	return nil
}
