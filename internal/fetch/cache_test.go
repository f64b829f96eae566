package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/fetch"
)

// W1: many callers share one download, whatever the address, and a later one needs
// none.
func TestOneDownloadPerDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := tarball(t, "f", noise(10_000))
		srv := serve(t, drips(data))
		cache := fetch.New(fetch.Options{Transport: srv})
		var wg sync.WaitGroup
		get := func(url string) {
			s, err := cache.Get(t.Context(), fetch.Artifact{URL: url, Digest: digestOf(data)})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if got := read(t, s, "f"); got != noise(10_000) {
				t.Error("the content is wrong")
			}
		}
		for i := range 20 {
			wg.Go(func() { get(fmt.Sprintf("http://%d.example/", i%2)) })
		}
		wg.Wait()
		get("http://gone.example/")
		got := cache.Stats()
		got.KeptBytes = 0
		want := fetch.Stats{Downloads: 1, Hits: 20, Bytes: int64(len(data)), Kept: 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The download survives the caller that began it, but not the last one.
func TestCancel(t *testing.T) {
	for name, c := range map[string]struct {
		leave    int // of 3 callers
		kept     int64
		requests int64
	}{
		"the first leaves": {leave: 1, kept: 1, requests: 1},
		"all leave":        {leave: 3, kept: 0, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				data := tarball(t, "f", noise(10_000))
				srv := serve(t, drips(data))
				cache := fetch.New(fetch.Options{Transport: srv})
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for i := range 3 {
					wg.Go(func() {
						mine := t.Context()
						if i < c.leave {
							mine = ctx
						}
						s, err := cache.Get(mine, artifactOf(data))
						if leaves := i < c.leave; leaves != errors.Is(err, context.Canceled) {
							t.Errorf("caller %d: %v", i, err)
						}
						if err == nil {
							s.Close()
						}
					})
					synctest.Wait() // One after the other.
				}
				time.Sleep(1500 * time.Millisecond)
				cancel()
				wg.Wait()
				synctest.Wait()
				if st := cache.Stats(); st.Kept != c.kept || srv.requests.Load() != c.requests {
					t.Errorf("%d requests, %+v", srv.requests.Load(), st)
				}
				// Whoever comes next is served either way.
				s, err := cache.Get(t.Context(), artifactOf(data))
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
			})
		})
	}
}

// That one address fails does not fail those who know a better one.
func TestAnotherAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := tarball(t, "f", "x")
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			if r.Host == "bad.example" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			_, _ = w.Write(data)
		})
		cache := fetch.New(fetch.Options{Transport: srv})
		var wg sync.WaitGroup
		for _, host := range []string{"bad.example", "good.example", "bad.example"} {
			wg.Go(func() {
				s, err := cache.Get(t.Context(), fetch.Artifact{URL: "http://" + host, Digest: digestOf(data)})
				if (err == nil) != (host == "good.example") {
					t.Errorf("%s: %v", host, err)
				}
				if err == nil {
					s.Close()
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if n := srv.requests.Load(); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// What is in use stays, whatever the budget; what was used last stays longest.
func TestEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		balls := map[string][]byte{}
		for _, name := range []string{"a", "b", "c", "d"} {
			balls["/"+name] = tarball(t, "f", name+noise(100_000))
		}
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(balls[r.URL.Path]) })
		cache := fetch.New(fetch.Options{Transport: srv, CacheBytes: 250_000})
		get := func(name string) *fetch.Source {
			t.Helper()
			s, err := cache.Get(t.Context(), fetch.Artifact{URL: "http://x/" + name, Digest: digestOf(balls["/"+name])})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		check := func(what string, downloads, kept int64) {
			t.Helper()
			if st := cache.Stats(); st.Downloads != downloads || st.Kept != kept {
				t.Errorf("%s: want %d downloads, %d kept: %+v", what, downloads, kept, st)
			}
		}
		a := get("a")
		again := get("a")
		again.Close()
		again.Close() // Does not take the other's use.
		get("b").Close()
		check("both fit", 2, 2)
		get("c").Close()
		check("a is older, but in use", 3, 2)
		if got := read(t, a, "f"); got != "a"+noise(100_000) {
			t.Error("a was lost under its reader")
		}
		get("a").Close()
		get("c").Close()
		check("a and c are still there", 3, 2)
		get("b").Close()
		check("b was dropped", 4, 2)
		b, c, d := get("b"), get("c"), get("d")
		check("all are in use", 6, 4)
		a.Close()
		check("room again", 6, 3)
		b.Close()
		c.Close()
		d.Close()
		check("as much as fits", 6, 2)
	})
}

func TestKeepsOnlyWhatIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := tarball(t, "f", "x")
		cache := fetch.New(fetch.Options{Transport: serve(t, sends(data)), CacheBytes: -1})
		s, err := cache.Get(t.Context(), artifactOf(data))
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, s, "f"); got != "x" || cache.Stats().Kept != 1 {
			t.Errorf("got %q, %+v", got, cache.Stats())
		}
		s.Close()
		if st := cache.Stats(); st.Kept != 0 || st.KeptBytes != 0 {
			t.Errorf("kept: %+v", st)
		}
	})
}

// Readers, evictions and cancelled callers at once, for the race detector.
func TestConcurrentUse(t *testing.T) {
	balls := map[string][]byte{}
	for i := range 6 {
		balls[fmt.Sprint("/", i)] = tarball(t, "f", strconv.Itoa(i)+noise(50_000))
	}
	srv := httptest.NewTestServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(balls[r.URL.Path]) }))
	cache := fetch.New(fetch.Options{Transport: srv.Client().Transport, CacheBytes: 120_000, Dir: t.TempDir()})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				ctx, cancel := context.WithCancel(t.Context())
				name := fmt.Sprint("/", (i*(g+1)+g)%6)
				if i%5 == 0 {
					go cancel()
				}
				s, err := cache.Get(ctx, fetch.Artifact{URL: "http://x" + name, Digest: digestOf(balls[name])})
				switch {
				case err == nil:
					if got, err := s.Tree.ReadFile("f"); err != nil || string(got) != name[1:]+noise(50_000) {
						t.Errorf("%s: wrong content, %v", name, err)
					}
					s.Close()
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if st := cache.Stats(); st.KeptBytes > 120_000 || st.Kept > 2 {
		t.Errorf("kept too much: %+v", st)
	}
}
