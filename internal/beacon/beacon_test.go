package beacon

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// watch returns what a beacon tells of a URL.
func watch(t *testing.T, b func(told func(error)) (*Beacon, string)) <-chan error {
	t.Helper()
	told := make(chan error, 100)
	beacon, url := b(func(err error) { told <- err })
	beacon.wait = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); beacon.Watch(ctx, url) }()
	t.Cleanup(func() { cancel(); <-done })
	return told
}

func artifacts(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "artifact not found", http.StatusNotFound)
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL + Path
}

func TestTheAddressLeadsHere(t *testing.T) {
	told := watch(t, func(told func(error)) (*Beacon, string) {
		b := New(told)
		url := serve(t, b.Handler(http.HandlerFunc(artifacts)))
		res, err := http.Get(strings.TrimSuffix(url, Path) + "/x")
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusNotFound || res.Body.Close() != nil {
			t.Errorf("artifacts are not served beside the beacon: %d %q", res.StatusCode, body)
		}
		return b, url
	})
	if err := <-told; err != nil {
		t.Error(err)
	}
}

func TestTheAddressLeadsElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		there func(*testing.T) string
		other bool
	}{
		"another controller": {func(t *testing.T) string {
			return serve(t, New(func(error) {}).Handler(http.HandlerFunc(artifacts)))
		}, true},
		"another program": {func(t *testing.T) string { return serve(t, http.HandlerFunc(artifacts)) }, true},
		"nobody":          {func(*testing.T) string { return "http://127.0.0.1:1" + Path }, false},
		"no address":      {func(*testing.T) string { return "http://%zz" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			told := watch(t, func(told func(error)) (*Beacon, string) { return New(told), c.there(t) })
			if err := <-told; err == nil || errors.Is(err, errOther) != c.other {
				t.Errorf("told %v", err)
			}
		})
	}
}

// A new pod is not told of trouble that passes, and hears of trouble that ends.
func TestPatience(t *testing.T) {
	for failures, first := range map[int64]bool{patience - 1: true, patience: false} {
		var n atomic.Int64
		told := watch(t, func(told func(error)) (*Beacon, string) {
			b := New(told)
			h := b.Handler(http.HandlerFunc(artifacts))
			return b, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) <= failures {
					artifacts(w, r)
					return
				}
				h.ServeHTTP(w, r)
			}))
		})
		if err := <-told; (err == nil) != first {
			t.Errorf("after %d failures: %v", failures, err)
		}
		if !first {
			if err := <-told; err != nil {
				t.Errorf("after %d failures, then: %v", failures, err)
			}
		}
	}
}
