package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/blob"
)

// What a [Builder] refuses, for [errors.Is].
var (
	ErrIsDir  = errors.New("is a directory")
	ErrNotDir = errors.New("is not a directory")
)

// Builder makes a tree out of another by adding to it. Nothing is ever
// removed; a file replaces a file of the same path. The zero value starts from
// the empty tree. A Builder is for one goroutine.
type Builder struct{ root *node }

// Edit returns a builder that starts from t, which does not change.
func (t Tree) Edit() *Builder { return &Builder{root: t.top()} }

// Tree returns what was built so far. The builder may go on; the tree keeps.
func (b *Builder) Tree() Tree {
	if b.root == nil {
		return Tree{}
	}
	freeze(b.root)
	return Tree{root: b.root}
}

// freeze turns the edit maps below n into sorted slices and gives the nodes up.
func freeze(n *node) {
	if n.edit == nil {
		return
	}
	n.kids = make([]kid, 0, len(n.edit))
	for name, c := range n.edit {
		freeze(c)
		n.kids = append(n.kids, kid{name, c})
	}
	slices.SortFunc(n.kids, func(a, b kid) int { return strings.Compare(a.name, b.name) })
	n.edit = nil
}

// thaw returns a directory that may be edited and that holds what n holds.
func thaw(n *node) *node {
	if n.edit != nil {
		return n
	}
	c := &node{dir: true, edit: make(map[string]*node, len(n.kids)+1)}
	for _, k := range n.kids {
		c.edit[k.name] = k.node
	}
	return c
}

// Lookup returns the entry at a clean path of what was built so far.
func (b *Builder) Lookup(name string) (Entry, bool) {
	n := b.root
	if n == nil {
		n = empty
	}
	if name != "." {
		for part := range strings.SplitSeq(name, "/") {
			if n.edit != nil {
				n = n.edit[part]
			} else {
				n = n.child(part)
			}
			if n == nil {
				return Entry{}, false
			}
		}
	}
	return Entry{Path: name, Blob: n.blob, node: n}, true
}

// dir returns the editable directory at name and makes it and its parents
// where they are missing. It wraps [ErrNotDir] when a file is in the way.
func (b *Builder) dir(name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "add", Path: name, Err: fs.ErrInvalid}
	}
	if b.root == nil {
		b.root = empty
	}
	b.root = thaw(b.root)
	at := b.root
	if name == "." {
		return at, nil
	}
	done := 0
	for part := range strings.SplitSeq(name, "/") {
		done += len(part) + 1
		c := at.edit[part]
		switch {
		case c == nil:
			c = &node{dir: true, edit: map[string]*node{}}
		case !c.dir:
			return nil, fmt.Errorf("%q %w", name[:done-1], ErrNotDir)
		default:
			c = thaw(c)
		}
		at.edit[part] = c
		at = c
	}
	return at, nil
}

// parent returns the editable directory that holds name.
func (b *Builder) parent(name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "add", Path: name, Err: fs.ErrInvalid}
	}
	return b.dir(path.Dir(name))
}

// AddDir makes the directory name and its parents where they are missing. It
// wraps [ErrNotDir] when a file is in the way.
func (b *Builder) AddDir(name string) error {
	_, err := b.dir(name)
	return err
}

// AddFile puts a file at name, makes missing parents, and replaces a file that
// is there, mode included. It wraps [ErrIsDir] when a directory is there, and
// [ErrNotDir] when a parent is a file.
func (b *Builder) AddFile(name string, executable bool, data blob.Blob) error {
	return b.put(name, &node{exec: executable, blob: data})
}

func (b *Builder) put(name string, file *node) error {
	if name == "." {
		return fmt.Errorf("%q %w", name, ErrIsDir)
	}
	parent, err := b.parent(name)
	if err != nil {
		return err
	}
	base := path.Base(name)
	if c := parent.edit[base]; c != nil && c.dir {
		return fmt.Errorf("%q %w", name, ErrIsDir)
	}
	parent.edit[base] = file
	return nil
}

// AddEntry puts e, which may come from any tree, at name: a file as by
// [Builder.AddFile], a directory merged into one that is there. What is not
// there yet is shared, not copied.
func (b *Builder) AddEntry(name string, e Entry) error {
	if !e.node.dir {
		return b.put(name, e.node)
	}
	if name != "." {
		parent, err := b.parent(name)
		if err != nil {
			return err
		}
		base := path.Base(name)
		if parent.edit[base] == nil {
			parent.edit[base] = e.node
			return nil
		}
	}
	if err := b.AddDir(name); err != nil {
		return err
	}
	return e.Children(func(c Entry) error {
		return b.AddEntry(path.Join(name, path.Base(c.Path)), c)
	})
}
