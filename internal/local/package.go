package local

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"

	"github.com/weir-dev/weir/internal/archive"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/tree"
)

// packaging is one file system being made into a tree.
type packaging struct {
	ctx    context.Context
	fs     fs.FS
	sink   blob.Sink
	opts   Options
	tree   tree.Builder
	bytes  int64
	count  int
	ignore *ignore
}

// packageFS makes a tree of what source-controller would make an artifact of:
// regular files and directories that are not ignored. Whatever else fsys
// holds, links above all, is left out.
func packageFS(ctx context.Context, fsys fs.FS, sink blob.Sink, o Options) (tree.Tree, error) {
	p := &packaging{ctx: ctx, fs: fsys, sink: sink, opts: o}
	if !o.NoSourceIgnore {
		p.ignore = defaultIgnore()
	}
	if err := p.dir(".", p.ignore); err != nil {
		return tree.Tree{}, err
	}
	return p.tree.Tree(), nil
}

// dir packages what is in the directory name. An ignored directory is read
// too, because a later pattern may bring back what is below it.
func (p *packaging) dir(name string, ig *ignore) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(p.fs, name)
	if err != nil {
		return err
	}
	if ig, err = ig.enter(p.fs, name, entries); err != nil {
		return err
	}
	if p.count += len(entries); p.count > archive.DefaultMaxEntries {
		return fmt.Errorf("more than %d files and directories", archive.DefaultMaxEntries)
	}
	for _, e := range entries {
		if err := p.entry(path.Join(name, e.Name()), e, ig); err != nil {
			return err
		}
	}
	return nil
}

func (p *packaging) entry(name string, e fs.DirEntry, ig *ignore) error {
	if !e.IsDir() && !e.Type().IsRegular() || ig.never(e.Name()) {
		return nil
	}
	ignored := ig.match(name, e.IsDir())
	if !ignored {
		if _, err := archive.Name(name); err != nil {
			return fmt.Errorf("%q cannot be in an artifact: %w", name, err)
		}
	}
	switch {
	case e.IsDir() && !ignored:
		if err := p.tree.AddDir(name); err != nil {
			return err
		}
		return p.dir(name, ig)
	case e.IsDir():
		return p.dir(name, ig)
	case ignored:
		return nil
	default:
		return p.file(name)
	}
}

func (p *packaging) file(name string) error {
	f, err := p.fs.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil // it was replaced since the directory was read
	}
	// What is read counts, not what Stat said: the file may be growing.
	left := p.opts.MaxBytes - p.bytes
	b, err := p.sink.Put(reader{p.ctx, io.LimitReader(f, min(left, math.MaxInt64-1)+1)})
	if err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	if b.Size() > left {
		return fmt.Errorf("more than %d bytes of files, at %q", p.opts.MaxBytes, name)
	}
	p.bytes += b.Size()
	return p.tree.AddFile(name, info.Mode()&0o111 != 0, b)
}

// reader reads until ctx is done.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
