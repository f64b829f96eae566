package fetch

import (
	"container/list"
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/tree"
)

const (
	// nodeBytes is about what one entry of a tree takes of memory, so that a
	// source of a million empty files does not count as nothing.
	nodeBytes = 256
	// maxIdle is how many sources are kept that nobody uses: each has a file
	// descriptor and a buffer.
	maxIdle = 128
)

// Cache downloads sources and keeps them. Concurrent use is safe.
type Cache struct {
	opts   Options
	client *http.Client

	mu      sync.Mutex
	entries map[string]*entry // by digest
	idle    *list.List        // entries without users, least recently used first
	stats   Stats
}

// entry is a source that is on its way or in the cache. It has a place in
// Cache.entries until it failed, was left by all or is evicted.
type entry struct {
	from   Artifact
	want   digest.Digest
	cancel context.CancelFunc

	// Set before ready is closed.
	ready   chan struct{}
	trouble *trouble
	panic   string
	tree    tree.Tree
	pack    *blob.Pack
	bytes   int64

	// Guarded by Cache.mu.
	users int // those who wait for it and those who read it
	idle  *list.Element
}

// Stats are counts since the cache was made, but for Kept and KeptBytes.
type Stats struct {
	// Downloads are tries to download a tarball, Failures those that failed,
	// and Bytes what came over the wire.
	Downloads, Failures, Bytes int64
	// Hits are calls that were served without a download of their own.
	Hits int64
	// Evictions are sources that were dropped to make room.
	Evictions int64
	// Kept is the number of sources in the cache, KeptBytes their size.
	Kept, KeptBytes int64
}

// New returns an empty cache.
func New(o Options) *Cache {
	o.setDefaults()
	return &Cache{
		opts:    o,
		client:  &http.Client{Transport: o.Transport, CheckRedirect: follow},
		entries: map[string]*entry{},
		idle:    list.New(),
	}
}

// Stats returns the counts of this moment.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

func (c *Cache) count(add func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(&c.stats)
}

// join returns the entry of a digest with the caller among its users, and
// whether a download had to be started for it.
func (c *Cache) join(ctx context.Context, a Artifact, want digest.Digest) (e *entry, started bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[want.String()]; e != nil {
		if e.idle != nil {
			c.idle.Remove(e.idle)
			e.idle = nil
		}
		e.users++
		return e, false
	}
	// The download outlives the caller that happens to be the first.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e = &entry{from: a, want: want, cancel: cancel, ready: make(chan struct{}), users: 1}
	c.entries[want.String()] = e
	go c.fill(ctx, e)
	return e, true
}

// fill downloads the entry.
func (c *Cache) fill(ctx context.Context, e *entry) {
	defer e.cancel()
	defer func() {
		if v := recover(); v != nil {
			e.panic = fmt.Sprintf("%v\n\n%s", v, debug.Stack())
		}
		c.settle(e)
	}()
	e.tree, e.pack, e.trouble = c.download(ctx, e.from, e.want)
	if e.trouble == nil {
		e.bytes = e.pack.Size() + nodeBytes*nodes(e.tree)
	}
}

// settle gives the entry its place, or takes it away.
func (c *Cache) settle(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(e.ready)
	here := c.entries[e.want.String()] == e
	switch {
	case e.trouble != nil || e.panic != "":
		if here {
			delete(c.entries, e.want.String())
		}
	case !here: // Everyone left just before the end.
		e.pack.Close() //nolint:errcheck,gosec // it was never read
	default:
		c.stats.Kept++
		c.stats.KeptBytes += e.bytes
		c.evict()
	}
}

// leave takes a user from the entry.
func (c *Cache) leave(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.users--
	if e.users > 0 || c.entries[e.want.String()] != e {
		return
	}
	select {
	case <-e.ready:
		e.idle = c.idle.PushBack(e)
		c.evict()
	default:
		// The next to ask must not join a download that is being ended.
		delete(c.entries, e.want.String())
		e.cancel()
	}
}

// evict drops what nobody uses until the rest fits.
func (c *Cache) evict() {
	for c.idle.Len() > maxIdle || c.stats.KeptBytes > max(c.opts.CacheBytes, 0) {
		at := c.idle.Front()
		if at == nil {
			return
		}
		e := c.idle.Remove(at).(*entry)
		delete(c.entries, e.want.String())
		c.stats.Kept--
		c.stats.KeptBytes -= e.bytes
		c.stats.Evictions++
		e.pack.Close() //nolint:errcheck,gosec // it was only read
	}
}

func nodes(t tree.Tree) (n int64) {
	// Walk fails only if told to.
	_ = t.Walk(".", func(tree.Entry) error { n++; return nil })
	return n
}
