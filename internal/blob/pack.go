package blob

import (
	"bufio"
	"crypto/sha256"
	"errors"
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

	mu    sync.Mutex
	buf   *bufio.Writer
	hash  hash.Hash
	chunk []byte
	end   int64
	err   error
}

var errSealed = errors.New("the pack is sealed")

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
		file:  f,
		buf:   bufio.NewWriterSize(f, packBuffer),
		hash:  sha256.New(),
		chunk: make([]byte, 32<<10),
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
	start := p.end
	n, err := p.append(r)
	p.end += n
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

// append writes and hashes what r holds, chunk by chunk: one pass while the
// bytes are in the processor's cache.
func (p *Pack) append(r io.Reader) (n int64, err error) {
	p.hash.Reset()
	for {
		m, err := r.Read(p.chunk)
		p.hash.Write(p.chunk[:m])
		if _, werr := p.buf.Write(p.chunk[:m]); werr != nil {
			p.err = fmt.Errorf("writing a pack file: %w", werr)
			return n, p.err
		}
		n += int64(m)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// Seal ends writing: what is still in memory goes to the file, and the buffers
// go, of which many open packs would otherwise keep one each. A later Put fails.
func (p *Pack) Seal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		if errors.Is(p.err, errSealed) {
			return nil
		}
		return p.err
	}
	if err := p.buf.Flush(); err != nil {
		p.err = fmt.Errorf("writing a pack file: %w", err)
		return p.err
	}
	p.err = errSealed
	p.buf, p.chunk, p.hash = nil, nil, nil
	return nil
}

// ReadAt implements [io.ReaderAt] over all bytes that were put so far.
func (p *Pack) ReadAt(data []byte, off int64) (int, error) {
	p.mu.Lock()
	if p.buf != nil && p.buf.Buffered() > 0 {
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
