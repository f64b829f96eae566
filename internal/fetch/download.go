package fetch

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"time"

	"github.com/weir-dev/weir/internal/archive"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/tree"
)

// The pause before the first retry of a download, and the longest. The default
// number of retries ends after about a minute, in which a server that was
// restarted is back.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 10 * time.Second
)

// next says when, after a failed try, another may do better.
type next int

const (
	now      next = iota // the server or the network may be back soon
	later                // the source or the server must change first
	hopeless             // the artifact is at fault, another must come
)

// trouble is why a try failed, and what that means for the next one.
type trouble struct {
	next next
	err  error
}

var (
	errStalled  = errors.New("the server sends nothing")
	errTooLarge = errors.New("the tarball is larger than allowed")
)

// download tries until it has the tree, or until trying again is of no use.
func (c *Cache) download(ctx context.Context, a Artifact, want digest.Digest) (tree.Tree, *blob.Pack, *trouble) {
	pause := firstPause
	for try := 0; ; try++ {
		t, pack, tr := c.try(ctx, a, want)
		if tr == nil || tr.next != now || try >= c.opts.Retries {
			return t, pack, tr
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return tree.Tree{}, nil, &trouble{later, context.Cause(ctx)}
		}
		pause = min(2*pause, lastPause)
	}
}

// try downloads once.
func (c *Cache) try(ctx context.Context, a Artifact, want digest.Digest) (tree.Tree, *blob.Pack, *trouble) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(c.opts.Stall, func() { cancel(errStalled) })
	defer watch.Stop()

	t, pack, tr := c.request(ctx, a, want, func() { watch.Reset(c.opts.Stall) })
	if tr != nil && errors.Is(context.Cause(ctx), errStalled) {
		tr = &trouble{now, fmt.Errorf("%w for %s", errStalled, c.opts.Stall)}
	}
	c.count(func(s *Stats) {
		s.Downloads++
		if tr != nil {
			s.Failures++
		}
	})
	return t, pack, tr
}

// request makes one request. It calls alive whenever the server sent something.
func (c *Cache) request(ctx context.Context, a Artifact, want digest.Digest, alive func()) (tree.Tree, *blob.Pack, *trouble) {
	if a.Size > c.opts.MaxDownload {
		return tree.Tree{}, nil, c.tooLarge()
	}
	req, err := newRequest(ctx, a.URL)
	if err != nil {
		return tree.Tree{}, nil, &trouble{hopeless, err}
	}
	res, err := c.client.Do(req)
	if err != nil {
		return tree.Tree{}, nil, refused(err)
	}
	defer res.Body.Close()
	if tr := c.answer(res); tr != nil {
		return tree.Tree{}, nil, tr
	}
	pack, err := blob.NewPack(c.opts.Dir)
	if err != nil {
		return tree.Tree{}, nil, &trouble{later, err}
	}
	b := &body{from: res.Body, alive: alive, hash: want.New(), max: c.opts.MaxDownload}
	if a.Size > 0 {
		b.max = min(b.max, a.Size)
	}
	t, err := archive.Read(b, pack, c.opts.Archive)
	if tr := c.verdict(b, pack, a, want, err); tr != nil {
		pack.Close() //nolint:errcheck,gosec // nothing of it is used
		return tree.Tree{}, nil, tr
	}
	return t, pack, nil
}

// answer looks at the head of a response.
func (c *Cache) answer(res *http.Response) *trouble {
	switch {
	case res.StatusCode >= http.StatusInternalServerError:
		return &trouble{now, fmt.Errorf("the server answers %s", status(res))}
	case res.StatusCode != http.StatusOK:
		return &trouble{later, fmt.Errorf("the server answers %s", status(res))}
	case res.ContentLength > c.opts.MaxDownload:
		return c.tooLarge()
	}
	return nil
}

func (c *Cache) tooLarge() *trouble {
	return &trouble{hopeless, fmt.Errorf("%w: more than %d bytes", errTooLarge, c.opts.MaxDownload)}
}

// verdict says what is wrong with a tarball that was read with the error err.
// The download is to blame before the content: what an archive of the wrong
// digest looks like is of no interest.
func (c *Cache) verdict(b *body, pack *blob.Pack, a Artifact, want digest.Digest, err error) *trouble {
	whole := b.drain()
	c.count(func(s *Stats) { s.Bytes += b.n })
	switch {
	case errors.Is(b.err, errTooLarge) && b.max < c.opts.MaxDownload:
		return &trouble{later, fmt.Errorf("the tarball has more than the %d bytes that its source tells of", b.max)}
	case errors.Is(b.err, errTooLarge):
		return c.tooLarge()
	case b.err != nil:
		return &trouble{now, fmt.Errorf("the download breaks off: %w", plain(b.err))}
	case !whole && err != nil: // What the digest is, nobody wants to wait for.
		return &trouble{hopeless, fmt.Errorf("unpacking: %w", err)}
	case !want.Is(b.hash) && b.n < a.Size:
		return &trouble{now, fmt.Errorf("the download breaks off: %w", io.ErrUnexpectedEOF)}
	case !want.Is(b.hash):
		return &trouble{later, fmt.Errorf("the digest of the tarball is not %s", want)}
	}
	// A full disk shows now, or was the reason before.
	if disk := pack.Seal(); disk != nil {
		return &trouble{later, disk}
	}
	if err != nil {
		return &trouble{hopeless, fmt.Errorf("unpacking: %w", err)}
	}
	return nil
}

// maxDrain is how many bytes are read, after what was asked for, to know what
// the digest would have been: enough for an archive that is wrong in its middle,
// and not for one that does not end.
const maxDrain = 16 << 20

// body counts and hashes what comes over the wire, and remembers why it ended.
type body struct {
	from  io.Reader
	alive func()
	hash  hash.Hash
	max   int64

	n     int64
	ended bool
	err   error // but for io.EOF
}

// drain reads what is left, within reason, and reports whether that was all.
func (b *body) drain() bool {
	_, _ = io.CopyN(io.Discard, b, maxDrain) // its error is in b
	return b.ended
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.from.Read(p)
	if n > 0 {
		b.alive()
	}
	b.hash.Write(p[:n])
	if b.n += int64(n); b.n > b.max {
		b.err = errTooLarge
		return 0, b.err
	}
	b.ended = err == io.EOF
	if err != nil && !b.ended {
		b.err = err
	}
	return n, err
}
