package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	// headerTimeout is for the head of a request, which is a line or two.
	headerTimeout = 10 * time.Second
	// idleTimeout is for kept connections: longer than the second between two
	// downloads of a consumer, shorter than the patience of NAT tables.
	idleTimeout = 2 * time.Minute
	// headerBytes is what a head may have; the standard is 1 MiB.
	headerBytes = 16 << 10
)

// Run answers requests on l with h until ctx ends, then lets running downloads
// finish for at most grace and closes the rest. It closes l. It returns nil when
// ctx ended and all downloads were finished.
//
// There is no limit to the time of a response, which would cut off a large
// artifact on a slow link however well it proceeds; the end of a consumer is
// noticed by TCP. Nor to the time of a request beyond its head: it has no body
// that anybody reads.
func Run(ctx context.Context, l net.Listener, h http.Handler, grace time.Duration) error {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serving artifacts on %q: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.Shutdown(end); err != nil {
		return fmt.Errorf("ending downloads: %w", errors.Join(err, s.Close()))
	}
	return nil
}
