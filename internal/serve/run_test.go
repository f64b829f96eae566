package serve_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/serve"
)

func itoa(n int) string { return strconv.Itoa(n) }

// running starts a server whose answer begins at once and ends when more is
// closed, and returns a response that has begun.
func running(t *testing.T, grace time.Duration) (r *http.Response, more chan struct{}, stop func(), done chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	more = make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "one ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "two")
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	done = make(chan error, 1)
	go func() { done <- serve.Run(ctx, l, h, grace) }()
	r, err = http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return r, more, cancel, done
}

func TestRunFinishesDownloads(t *testing.T) {
	r, more, stop, done := running(t, time.Minute)
	stop()
	close(more)
	if got := body(t, r); got != "one two" {
		t.Errorf("got %q", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRunEndsAfterGrace(t *testing.T) {
	r, _, stop, done := running(t, time.Millisecond)
	stop()
	if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if data, err := io.ReadAll(r.Body); err == nil {
		t.Errorf("a download that was cut off looks whole: %q", data)
	}
	_ = r.Body.Close()
}

func TestRunFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := serve.Run(t.Context(), l, http.NotFoundHandler(), 0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
