package compose

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/archive"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/tree"
	"github.com/weir-dev/weir/internal/values"
)

// MaxExtract is how many bytes the files of one unpacked tarball may have in
// sum.
const MaxExtract = 100 << 20

// MaxMerge is how many bytes a YAML file may have that is merged.
const MaxMerge = 16 << 20

// Options change how operations run. The zero value is what the API documents.
type Options struct {
	// Sink keeps the files of unpacked tarballs. Nil keeps them in memory.
	Sink blob.Sink
	// RootGlobs keeps what a pattern matches at its path from the root of the
	// source, except for patterns that end in /** after a prefix without
	// globs: the rule of older controllers.
	RootGlobs bool
}

// Compose runs ops in order over the sources, which are keyed by alias, and
// returns the tree that results. The first operation that fails ends it; the
// error says which one. Every alias must have a source.
func Compose(ctx context.Context, ops []Op, sources map[string]tree.Tree, o Options) (tree.Tree, error) {
	if o.Sink == nil {
		o.Sink = blob.Memory{}
	}
	var dst tree.Builder
	for i, op := range ops {
		src, ok := sources[op.alias]
		if !ok {
			return tree.Tree{}, fmt.Errorf("copy[%d]: no source has the alias %q", i, op.alias)
		}
		r := run{ctx: ctx, op: op, src: src, dst: &dst, options: o}
		if err := r.do(); err != nil {
			return tree.Tree{}, fmt.Errorf("copy[%d]: from %q: %w", i, op.from, err)
		}
	}
	return dst.Tree(), nil
}

// run is one operation at work.
type run struct {
	ctx     context.Context
	op      Op
	src     tree.Tree
	dst     *tree.Builder
	options Options
}

// errNothing is why an operation selected nothing. An optional one is content.
type errNothing struct{ msg string }

func (e errNothing) Error() string { return e.msg }

func (r *run) do() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	var err error
	if r.op.glob != nil {
		err = r.matches()
	} else {
		err = r.literal()
	}
	if r.op.optional && errors.As(err, new(errNothing)) {
		return nil
	}
	return err
}

// literal copies the one file or directory that the operation names.
func (r *run) literal() error {
	e, err := r.find(r.op.literal)
	if err != nil {
		return err
	}
	base := path.Base(e.Path)
	if e.IsDir() {
		to := r.op.to
		if base != "." {
			to = path.Join(to, base)
		}
		return r.dir(e, to, e.Path)
	}
	if r.op.excludes.Match(e.Path, "") {
		return nil // spec rule: a file named outright and excluded is left out in silence
	}
	to := r.op.to
	if at, ok := r.dst.Lookup(to); r.op.into || ok && at.IsDir() {
		to = path.Join(to, base)
	}
	return r.file(e, to)
}

// find returns the entry at name. That it is missing is an [errNothing]; that
// a file stands where name wants a directory is not, for it is never meant.
func (r *run) find(name string) (tree.Entry, error) {
	if e, ok := r.src.Lookup(name); ok {
		return e, nil
	}
	for p := path.Dir(name); p != "."; p = path.Dir(p) {
		if e, ok := r.src.Lookup(p); ok && !e.IsDir() {
			return tree.Entry{}, fmt.Errorf("%q is a file and holds no %q", p, name)
		}
	}
	return tree.Entry{}, errNothing{fmt.Sprintf(
		"%q does not exist in the source; correct the path, or set optional: true", name)}
}

// dir copies the directory e to the directory at to. Paths for the excludes
// are relative to the directory at root.
func (r *run) dir(e tree.Entry, to, root string) error {
	if r.op.strategy == v1beta1.CopyExtract {
		return errors.New("the Extract strategy takes tarballs, not directories; use a pattern such as dir/*.tgz")
	}
	if r.op.strategy == v1beta1.CopyOverwrite && !r.op.filters {
		return r.dst.AddEntry(to, e)
	}
	if err := r.dst.AddDir(to); err != nil {
		return err
	}
	return e.Children(func(c tree.Entry) error {
		if r.op.excludes.Match(c.Path, below(root, c.Path)) {
			return nil
		}
		next := path.Join(to, path.Base(c.Path))
		if c.IsDir() {
			return r.dir(c, next, root)
		}
		return r.file(c, next)
	})
}

// below returns name relative to the directory root that it lies in, and "."
// for root itself.
func below(root, name string) string {
	switch root {
	case ".":
		return name
	case name:
		return "."
	default:
		return name[len(root)+1:]
	}
}

// file copies the file e to the file at to, or unpacks it into the directory.
func (r *run) file(e tree.Entry, to string) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	switch r.op.strategy {
	case v1beta1.CopyMerge:
		return r.merge(e, to)
	case v1beta1.CopyExtract:
		return r.extract(e, r.op.to)
	default:
		return r.dst.AddEntry(to, e)
	}
}

func (r *run) extract(e tree.Entry, to string) error {
	if !isTarball(e.Path) {
		return fmt.Errorf("%q is no tarball: the Extract strategy takes files that end in .tar.gz or .tgz", e.Path)
	}
	t, err := archive.Read(e.Blob.Open(), r.options.Sink, archive.Options{MaxBytes: MaxExtract, Links: archive.Refuse})
	if err != nil {
		return fmt.Errorf("unpacking %q: %w", e.Path, err)
	}
	root, _ := t.Lookup(".")
	return r.dst.AddEntry(to, root)
}

// isTarball reports whether the name is that of a tarball, in any case.
func isTarball(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasSuffix(lower, ".tar.gz") || strings.HasSuffix(lower, ".tgz")
}

// merge lays the YAML file e over the file at to, whose mode stays. Where no
// file is, it is a copy.
func (r *run) merge(e tree.Entry, to string) error {
	at, ok := r.dst.Lookup(to)
	if !ok || at.IsDir() {
		return r.dst.AddEntry(to, e) // which refuses to replace a directory
	}
	base, err := readSmall(at)
	if err != nil {
		return fmt.Errorf("merging into %q: %w", to, err)
	}
	over, err := readSmall(e)
	if err != nil {
		return fmt.Errorf("merging %q: %w", e.Path, err)
	}
	data, err := values.Merge(base, over)
	if err != nil {
		return fmt.Errorf("merging %q into %q: %w", e.Path, to, err)
	}
	return r.dst.AddFile(to, at.Executable(), blob.Of(data))
}

func readSmall(e tree.Entry) ([]byte, error) {
	if e.Blob.Size() > MaxMerge {
		return nil, fmt.Errorf("a YAML file of %d bytes is too large to merge: at most %d", e.Blob.Size(), MaxMerge)
	}
	return e.Blob.ReadAll()
}
