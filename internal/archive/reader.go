package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path"

	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/tree"
)

// What headers and padding may take of the decompressed stream, in bytes. It
// keeps an archive that is one long run of zeros or headers from costing more
// time than its limits say.
const (
	slack         = 1 << 20
	slackPerEntry = 8 << 10
)

// reader is one archive being read.
type reader struct {
	sink blob.Sink
	opts Options
	raw  *bounded
	tar  *tar.Reader
	tree tree.Builder

	bytes   int64
	count   int
	dirs    map[string]struct{} // directories that were counted
	skipped map[string]struct{} // symbolic links that were left out
}

func newReader(r io.Reader, sink blob.Sink, o Options) *reader {
	raw := &bounded{r: r, left: min(o.MaxBytes, math.MaxInt64/2) + slack}
	return &reader{
		sink: sink,
		opts: o,
		raw:  raw,
		tar:  tar.NewReader(raw),
		dirs: map[string]struct{}{".": {}},
	}
}

// entries reads the archive up to its end mark.
func (r *reader) entries() error {
	for {
		h, err := r.tar.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if r.count == 0 && errors.Is(err, tar.ErrHeader) {
			return fmt.Errorf("not a gzip-compressed tarball: %w", err)
		}
		if err != nil {
			return fmt.Errorf("reading the tarball: %w", noEOF(err))
		}
		r.raw.left += slackPerEntry
		if h.Typeflag == tar.TypeXGlobalHeader {
			// Says something about the archive, as those of `git archive` do.
			if err := r.grow(1); err != nil {
				return err
			}
			continue
		}
		if err := r.entry(h); err != nil {
			return fmt.Errorf("entry %q: %w", shown(h.Name), err)
		}
	}
}

func (r *reader) entry(h *tar.Header) error {
	name, err := Name(h.Name)
	if err != nil {
		return err
	}
	if err := r.reach(name); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return r.file(name, h)
	case tar.TypeDir:
		r.dirs[name] = struct{}{}
		return r.tree.AddDir(name)
	case tar.TypeLink:
		return r.hardLink(name, h.Linkname)
	case tar.TypeSymlink:
		return r.symlink(name)
	default:
		return fmt.Errorf("unsupported file type %q", h.Typeflag)
	}
}

// reach counts the entry and the directories that lead to it.
func (r *reader) reach(name string) error {
	n := 1
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if _, ok := r.dirs[dir]; ok {
			break
		}
		r.dirs[dir] = struct{}{}
		n++
	}
	return r.grow(n)
}

func (r *reader) grow(n int) error {
	if r.count += n; r.count > r.opts.MaxEntries {
		return fmt.Errorf("the archive has more than %d entries", r.opts.MaxEntries)
	}
	return nil
}

func (r *reader) weigh(size int64) error {
	if size > r.opts.MaxBytes-r.bytes {
		return fmt.Errorf("the files of the archive have more than %d bytes", r.opts.MaxBytes)
	}
	r.bytes += size
	return nil
}

func (r *reader) file(name string, h *tar.Header) error {
	// The header's word counts before anything is read, and no more is read:
	// tar.Reader ends the entry there.
	if err := r.weigh(h.Size); err != nil {
		return err
	}
	b, err := r.sink.Put(r.tar)
	if err != nil {
		return noEOF(err)
	}
	return r.tree.AddFile(name, h.Mode&0o111 != 0, b)
}

func (r *reader) hardLink(name, target string) error {
	to, err := Name(target)
	if err != nil {
		return fmt.Errorf("hard link to %q: %w", shown(target), err)
	}
	if _, ok := r.skipped[to]; ok {
		return r.symlink(name)
	}
	e, ok := r.tree.Lookup(to)
	if !ok || e.IsDir() {
		return fmt.Errorf("hard link to %q, which is not an earlier file of the archive", shown(target))
	}
	if err := r.weigh(e.Blob.Size()); err != nil {
		return err
	}
	return r.tree.AddFile(name, e.Executable(), e.Blob)
}

func (r *reader) symlink(name string) error {
	if r.opts.Links == Refuse {
		return errors.New("links are not allowed")
	}
	if r.skipped == nil {
		r.skipped = map[string]struct{}{}
	}
	r.skipped[name] = struct{}{}
	return nil
}

// end reads what follows the end mark: padding, whose length is up to the
// program that wrote the archive, and the checksum of the gzip stream.
func (r *reader) end() error {
	buf := make([]byte, 4<<10)
	for {
		n, err := r.raw.Read(buf)
		if len(bytes.TrimLeft(buf[:n], "\x00")) > 0 {
			return errors.New("bytes after the end of the archive")
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// bounded reads from r until left bytes were read, and then fails.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("too much of the archive is not file content")
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
