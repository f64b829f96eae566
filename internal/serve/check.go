package serve

import (
	"errors"
	"hash"
	"io"
	"sync"

	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/store"
)

// errDamaged is what reading a file ends with whose bytes are not the recorded
// ones.
var errDamaged = errors.New("the file is damaged")

// checked opens files that do not hand out their last bytes unless all of them
// are what is recorded.
type checked struct {
	from    Opener
	damaged func(path string)

	mu sync.Mutex
	// whole are the files that were read to their end and found good, by path.
	whole map[string]store.Artifact // guarded by mu
}

// Checked returns files whose bytes are checked as they are read: who reads one
// from its beginning never gets the end of a damaged one, and of a damaged one
// that was never read as a whole no part is got either. It calls damaged with
// the paths of those that are found out; damaged must not block.
//
// A disk that rots under a file after it was read whole once is found out by the
// next whole reading, not by that of a part.
func Checked(from Opener, damaged func(path string)) Opener {
	return &checked{from: from, damaged: damaged, whole: map[string]store.Artifact{}}
}

// Open implements [Opener].
func (c *checked) Open(path string) (*store.File, error) {
	f, err := c.from.Open(path)
	if err != nil {
		return nil, err
	}
	want, err := digest.Parse(f.Digest)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &store.File{Artifact: f.Artifact, ReadSeekCloser: &reader{
		ReadSeekCloser: f.ReadSeekCloser, checked: c, artifact: f.Artifact, want: want, hash: want.New(),
	}}, nil
}

func (c *checked) isWhole(a store.Artifact) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.whole[a.Path] == a
}

// maxWhole bounds the files that are remembered; of more than that some are
// read once more.
const maxWhole = 100_000

func (c *checked) verdict(a store.Artifact, ok bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok {
		delete(c.whole, a.Path)
		c.damaged(a.Path)
		return errDamaged
	}
	if len(c.whole) >= maxWhole {
		clear(c.whole)
	}
	c.whole[a.Path] = a
	return nil
}

// reader is one use of a file. Reading from the beginning on is hashed.
type reader struct {
	io.ReadSeekCloser

	checked  *checked
	artifact store.Artifact
	want     digest.Digest
	hash     hash.Hash
	hashed   int64 // how many bytes from the beginning on
	at       int64
}

func (r *reader) Seek(offset int64, whence int) (int64, error) {
	at, err := r.ReadSeekCloser.Seek(offset, whence)
	if err == nil {
		r.at = at
	}
	return at, err
}

func (r *reader) Read(p []byte) (int, error) {
	if r.at != r.hashed && !r.checked.isWhole(r.artifact) {
		if err := r.readAll(); err != nil {
			return 0, err
		}
	}
	n, err := r.ReadSeekCloser.Read(p)
	if r.at == r.hashed {
		r.hash.Write(p[:n])
		r.hashed += int64(n)
		if n > 0 && r.hashed >= r.artifact.Size {
			if err := r.checked.verdict(r.artifact, r.hashed == r.artifact.Size && r.want.Is(r.hash)); err != nil {
				return 0, err
			}
		}
	}
	r.at += int64(n)
	return n, err
}

// readAll reads the file once from its beginning, and goes back to where it was.
func (r *reader) readAll() error {
	at := r.at
	if _, err := r.ReadSeekCloser.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h := r.want.New()
	n, err := io.Copy(h, r.ReadSeekCloser)
	if err != nil {
		return err
	}
	if err := r.checked.verdict(r.artifact, n == r.artifact.Size && r.want.Is(h)); err != nil {
		return err
	}
	_, err = r.ReadSeekCloser.Seek(at, io.SeekStart)
	return err
}
