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

// traffic counts requests that change something, and may refuse them.
type traffic struct {
	writes atomic.Int64
	// left is how many more writes pass; negative: all.
	left atomic.Int64
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
	if r.Method != http.MethodGet {
		if f.left.Load() == 0 {
			return nil, errors.New("the process has ended")
		}
		if f.left.Load() > 0 {
			f.left.Add(-1)
		}
		f.writes.Add(1)
		f.mu.Lock()
		f.requests = append(f.requests, r.Method+" "+r.URL.Path)
		f.mu.Unlock()
	}
	return f.next.RoundTrip(r)
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
