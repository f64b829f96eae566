package pack

import (
	"archive/tar"
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/tree"
)

// level is the compression level of tarballs. Changing it changes their bytes
// and digests, though not the revisions of artifacts.
const level = 5

// Result describes a tarball that was written.
type Result struct {
	// Digest is that of the tarball's bytes.
	Digest blob.Digest
	// Size is the tarball's size in bytes.
	Size int64
	// Files is the number of regular files inside.
	Files int
}

// Write writes t to w as a gzip-compressed tarball. The bytes depend on the
// content of t alone: entries come parents first and names in byte order,
// without the root; times are the Unix epoch, owners 0 and unnamed, modes 0644
// or 0755. Names that do not fit USTAR have PAX headers. Concurrent calls are
// safe.
func Write(w io.Writer, t tree.Tree) (Result, error) {
	p := packers.Get().(*packer)
	defer packers.Put(p)
	return p.write(w, t)
}

// packers keeps the large state of compressors. Artifacts are often so small
// that making it anew would take longer than compressing them.
var packers = sync.Pool{New: func() any {
	zw, err := gzip.NewWriterLevel(io.Discard, level)
	if err != nil {
		panic(err) // the level is a constant
	}
	p := &packer{gzip: zw, hash: sha256.New(), copied: make([]byte, 32<<10)}
	p.buf = bufio.NewWriterSize(p, 64<<10)
	return p
}}

// packer is what one call of [Write] needs.
type packer struct {
	gzip   *gzip.Writer
	buf    *bufio.Writer // the compressor writes a few hundred bytes at a time
	hash   hash.Hash
	copied []byte
	out    io.Writer
	size   int64
}

// Write passes compressed bytes on and keeps their digest and number.
func (p *packer) Write(data []byte) (int, error) {
	n, err := p.out.Write(data)
	p.hash.Write(data[:n])
	p.size += int64(n)
	return n, err
}

func (p *packer) write(w io.Writer, t tree.Tree) (Result, error) {
	p.out, p.size = w, 0
	defer func() { p.out = nil }()
	p.hash.Reset()
	p.buf.Reset(p)
	p.gzip.Reset(p.buf)
	tw := tar.NewWriter(p.gzip)

	var r Result
	err := t.Walk(".", func(e tree.Entry) error {
		if e.Path == "." {
			return nil
		}
		if !e.IsDir() {
			r.Files++
		}
		if err := p.entry(tw, e); err != nil {
			return fmt.Errorf("packing %q: %w", e.Path, err)
		}
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	if err := tw.Close(); err != nil {
		return Result{}, fmt.Errorf("packing: %w", err)
	}
	if err := cmp.Or(p.gzip.Close(), p.buf.Flush()); err != nil {
		return Result{}, fmt.Errorf("packing: %w", err)
	}
	p.hash.Sum(r.Digest[:0])
	r.Size = p.size
	return r, nil
}

func (p *packer) entry(tw *tar.Writer, e tree.Entry) error {
	h := tar.Header{
		Typeflag: tar.TypeReg,
		Name:     e.Path,
		Mode:     int64(e.Mode().Perm()),
		Size:     e.Blob.Size(),
		ModTime:  time.Unix(0, 0),
	}
	if e.IsDir() {
		h.Typeflag = tar.TypeDir
		h.Name += "/"
	}
	if err := tw.WriteHeader(&h); err != nil {
		return err
	}
	if e.IsDir() {
		return nil
	}
	_, err := io.CopyBuffer(struct{ io.Writer }{tw}, struct{ io.Reader }{e.Blob.Open()}, p.copied)
	return err
}
