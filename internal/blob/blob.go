// Package blob is bytes by digest: values that know their SHA-256 and size and
// where their bytes lie, in memory or in a pack file that holds many of them.
// It knows no paths, modes or archives.
package blob

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// Digest is the SHA-256 of a blob's bytes.
type Digest [sha256.Size]byte

// String returns the digest in lower-case hexadecimal, without a prefix.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Blob refers to immutable bytes. The zero value is the empty blob. A Blob is
// small and meant to be copied; concurrent reads are safe.
type Blob struct {
	digest Digest
	size   int64
	offset int64
	from   io.ReaderAt
}

// emptyDigest is the digest of no bytes, so that the zero Blob is a blob too.
var emptyDigest = sha256.Sum256(nil)

// Of returns a blob that keeps data in memory. The caller must not change
// data afterwards.
func Of(data []byte) Blob {
	if len(data) == 0 {
		return Blob{}
	}
	return Blob{digest: sha256.Sum256(data), size: int64(len(data)), from: bytes.NewReader(data)}
}

// Digest returns the SHA-256 of the bytes; it reads nothing.
func (b Blob) Digest() Digest {
	if b.size == 0 {
		return emptyDigest
	}
	return b.digest
}

// Size returns the number of bytes.
func (b Blob) Size() int64 { return b.size }

// Open returns a reader of the bytes. It need not be closed, and stays valid
// as long as the pack that the blob came from.
func (b Blob) Open() *io.SectionReader {
	if b.from == nil {
		return io.NewSectionReader(bytes.NewReader(nil), 0, 0)
	}
	return io.NewSectionReader(b.from, b.offset, b.size)
}

// ReadAll returns a fresh copy of the bytes.
func (b Blob) ReadAll() ([]byte, error) {
	data := make([]byte, b.size)
	if _, err := io.ReadFull(b.Open(), data); err != nil {
		return nil, err
	}
	return data, nil
}

// Sink stores bytes and returns them as a blob. Implementations are [*Pack]
// and [Memory].
type Sink interface {
	// Put reads r to its end and keeps what it read. On error nothing is
	// kept that a later blob could see.
	Put(r io.Reader) (Blob, error)
}

// Memory is a Sink that keeps each blob in memory of its own. It has no limit:
// the caller bounds what it reads from.
type Memory struct{}

// Put implements [Sink].
func (Memory) Put(r io.Reader) (Blob, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Blob{}, err
	}
	return Of(data), nil
}
