package blob

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
)

// packBuffer is how many bytes are gathered before a pack file is written to:
// one system call for dozens of the small files that sources are made of.
const packBuffer = 256 << 10

// Pack is one file that holds the bytes of many blobs one after the other. A
// source of 20,000 files costs one file on disk, one descriptor, and in memory
// only the entries that refer to it. Put and reads may run concurrently.
type Pack struct {
	file *os.File

	mu     sync.Mutex
	buf    *bufio.Writer
	hash   hash.Hash
	copied []byte
	end    int64
	err    error
}

// NewPack creates a pack in a temporary file of dir, or of the system's
// directory for such files when dir is empty. The file has no name on disk
// once NewPack returns, so that a crash leaves nothing behind. The caller
// closes the pack when no blob of it is used any more.
func NewPack(dir string) (*Pack, error) {
	f, err := os.CreateTemp(dir, "weir-pack-*")
	if err != nil {
		return nil, fmt.Errorf("creating a pack file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("creating a pack file: %w", err)
	}
	return &Pack{
		file:   f,
		buf:    bufio.NewWriterSize(f, packBuffer),
		hash:   sha256.New(),
		copied: make([]byte, 32<<10),
	}, nil
}

// Put appends the bytes of r and returns them as a blob, whose bytes can be
// read at once. When r fails the pack stays usable and only wastes the space;
// when the disk fails every later Put fails too.
func (p *Pack) Put(r io.Reader) (Blob, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return Blob{}, p.err
	}
	p.hash.Reset()
	// Writes of a hash never fail, so an error is the reader's or the disk's;
	// bufio.Writer remembers the latter.
	n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(p.buf, p.hash)}, struct{ io.Reader }{r}, p.copied)
	start := p.end
	p.end += n
	if _, werr := p.buf.Write(nil); werr != nil {
		p.err = fmt.Errorf("writing a pack file: %w", werr)
		return Blob{}, p.err
	}
	if err != nil {
		return Blob{}, err
	}
	b := Blob{size: n, offset: start, from: p}
	p.hash.Sum(b.digest[:0])
	if n == 0 {
		b = Blob{}
	}
	return b, nil
}

// ReadAt implements [io.ReaderAt] over all bytes that were put so far.
func (p *Pack) ReadAt(data []byte, off int64) (int, error) {
	p.mu.Lock()
	if p.buf.Buffered() > 0 {
		if err := p.buf.Flush(); err != nil {
			p.err = fmt.Errorf("writing a pack file: %w", err)
			p.mu.Unlock()
			return 0, p.err
		}
	}
	p.mu.Unlock()
	return p.file.ReadAt(data, off)
}

// Size returns the number of bytes in the pack.
func (p *Pack) Size() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end
}

// Close frees the disk space. Blobs of the pack cannot be read afterwards.
func (p *Pack) Close() error { return p.file.Close() }
