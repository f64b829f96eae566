// Package fetch turns the artifact of a source into a tree: it downloads the
// tarball once, verifies its digest while it reads it, and keeps the result
// for everyone who asks for the same digest. It reads no source objects, and
// nothing of the environment: no proxies, no addresses to use instead.
package fetch

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/archive"
	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/tree"
)

// What [Options] mean when they do not say.
const (
	DefaultCacheBytes  = 2 << 30
	DefaultMaxDownload = 1 << 30
	DefaultRetries     = 9
	DefaultWait        = 5 * time.Second
	DefaultStall       = 30 * time.Second
)

// Options say how a [Cache] downloads and how much it keeps. The zero value
// works.
type Options struct {
	// CacheBytes is how many bytes, decompressed, the cache keeps, at most.
	// Sources in use count and are kept even beyond it. Zero means
	// [DefaultCacheBytes]; when negative, only what is in use is kept.
	CacheBytes int64
	// Retries is how often a download is tried again in one call; zero means
	// [DefaultRetries], negative never.
	Retries int
	// Wait is the [fail.Error.After] of errors; zero means [DefaultWait].
	Wait time.Duration
	// Stall is for how long a server may send nothing before the download
	// counts as broken; zero means [DefaultStall].
	Stall time.Duration
	// MaxDownload is how many bytes a tarball may have, compressed; zero means
	// [DefaultMaxDownload].
	MaxDownload int64
	// Archive bounds what a tarball may hold.
	Archive archive.Options
	// Dir is where the packs are; empty means the system's directory for
	// temporary files.
	Dir string
	// Transport makes the requests; nil means one without proxies.
	Transport http.RoundTripper
}

func (o *Options) setDefaults() {
	def(&o.CacheBytes, DefaultCacheBytes)
	def(&o.Retries, DefaultRetries)
	def(&o.Wait, DefaultWait)
	def(&o.Stall, DefaultStall)
	def(&o.MaxDownload, DefaultMaxDownload)
	if o.Transport == nil {
		o.Transport = transport()
	}
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Artifact is what the status of a source says of its tarball.
type Artifact struct {
	// URL is where the tarball is, over http or https.
	URL string
	// Digest of the tarball, as algorithm:hex, with sha256, sha384 or sha512.
	Digest string
	// Size of the tarball in bytes; zero when unknown. It only helps to tell
	// why a digest is wrong, and to refuse early: the digest decides.
	Size int64
}

// Source is a verified source in use. Its tree can be read, by many at once,
// until Close.
type Source struct {
	Tree tree.Tree

	close func()
}

// Close ends the use. Calls after the first do nothing.
func (s *Source) Close() { s.close() }

// Get returns the source with the artifact's digest: from the cache, from a
// download that another call has begun, or from the artifact's URL. The caller
// closes it. A download goes on as long as one caller waits for it. Who knows
// a digest gets its content: access to sources is the caller's to check.
//
// Errors are [*fail.Error]s of reason SourceFetchFailed and class
// [fail.Wait]: with Options.Wait, or with no time of their own when the very
// same artifact cannot do better next time.
func (c *Cache) Get(ctx context.Context, a Artifact) (*Source, error) {
	want, err := digest.Parse(a.Digest)
	if err != nil {
		return nil, c.failed(a, &trouble{hopeless, err})
	}
	for {
		e, started := c.join(ctx, a, want)
		select {
		case <-e.ready:
		case <-ctx.Done():
			c.leave(e)
			return nil, c.failed(a, &trouble{later, context.Cause(ctx)})
		}
		if e.panic != "" {
			panic(e.panic) // In a goroutine of someone who can recover.
		}
		if e.trouble == nil {
			c.count(func(s *Stats) {
				if !started {
					s.Hits++
				}
			})
			return &Source{Tree: e.tree, close: sync.OnceFunc(func() { c.leave(e) })}, nil
		}
		if e.from == a {
			return nil, c.failed(a, e.trouble)
		}
		// Another's address failed, which says nothing about this one.
	}
}

func (c *Cache) failed(a Artifact, t *trouble) error {
	f := &fail.Error{
		Reason: v1beta1.ReasonSourceFetchFailed,
		Class:  fail.Wait,
		After:  c.opts.Wait,
		Err:    fmt.Errorf("fetching %q: %w", shown(a.URL), t.err),
	}
	if t.next == hopeless {
		f.After = 0
	}
	return f
}
