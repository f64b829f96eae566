package artifactgenerator_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/store"
)

// traffic counts requests, and may refuse those that change something.
type traffic struct {
	writes atomic.Int64
	// left is how many more writes pass; negative: all.
	left atomic.Int64
	// late lets the last write arrive, and loses the answer.
	late atomic.Bool
	// reads is how many ExternalArtifacts were read one by one.
	reads atomic.Int64
	// downloads is how many tarballs were asked for.
	downloads atomic.Int64
	// requests are those that were counted, for who wonders about their number.
	mu       sync.Mutex
	requests []string // guarded by mu

	// refused are the requests that do not pass, as "METHOD part of the path".
	refused atomic.Value
}

// reset begins to count anew.
func (f *traffic) reset() {
	f.writes.Store(0)
	f.reads.Store(0)
	f.downloads.Store(0)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = nil
}

func (f *traffic) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.requests, "\n")
}

// connection is traffic over one transport.
type connection struct {
	*traffic
	next http.RoundTripper
}

func (f connection) RoundTrip(r *http.Request) (*http.Response, error) {
	if refused, _ := f.refused.Load().(string); refused != "" {
		method, part, _ := strings.Cut(refused, " ")
		if r.Method == method && strings.Contains(r.URL.Path, part) {
			return nil, errors.New("refused by the test")
		}
	}
	if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/externalartifacts/") {
		f.reads.Add(1)
	}
	if r.Method != http.MethodGet {
		// Reviews change nothing, so the end after one is like that before.
		last, err := f.pass(!strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"))
		if err != nil {
			return nil, err
		}
		if last && f.late.Load() {
			if response, err := f.next.RoundTrip(r); err == nil {
				_ = response.Body.Close()
			}
			return nil, errEnded
		}
		f.writes.Add(1)
		f.mu.Lock()
		f.requests = append(f.requests, r.Method+" "+r.URL.Path)
		f.mu.Unlock()
	}
	return f.next.RoundTrip(r)
}

var errEnded = errors.New("the process has ended")

// pass lets a request pass, as long as some are left, and reports whether it is
// the last of those that count.
func (f *traffic) pass(counts bool) (last bool, err error) {
	for {
		left := f.left.Load()
		switch {
		case left == 0:
			return false, errEnded
		case left < 0 || !counts:
			return false, nil
		case f.left.CompareAndSwap(left, left-1):
			return left == 1, nil
		}
	}
}

// watched counts the bytes that are read of a store's files.
type watched struct {
	store.Store
	read *atomic.Int64
}

func (w watched) Open(path string) (*store.File, error) {
	f, err := w.Store.Open(path)
	if err == nil {
		f.ReadSeekCloser = counted{f.ReadSeekCloser, w.read}
	}
	return f, err
}

func (w watched) Release(path string) { store.Release(w.Store, path) }

type counted struct {
	io.ReadSeekCloser
	read *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadSeekCloser.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// events keeps the events of a world.
type events struct {
	mu  sync.Mutex
	all []told // guarded by mu
}

type told struct {
	loop.Event
	about string
}

func (e *events) Record(about client.Object, ev loop.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, told{ev, about.GetName()})
}

// matching returns the events with the text in "name Reason: message".
func (e *events) matching(text string) []told {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []told
	for _, ev := range e.all {
		if strings.Contains(fmt.Sprintf("%s %s: %s", ev.about, ev.Reason, ev.Message), text) {
			out = append(out, ev)
		}
	}
	return out
}
