// Package relay lets every replica answer for artifacts. They are on the disk of
// the leader; the others pass requests on to it. So a Service may send consumers
// to any replica, all of them are ready while a Deployment rolls, and nobody has
// to tell the Service who leads. It elects nobody.
package relay

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// hop marks requests that were passed on, which is done once: two replicas
	// that each take the other for the leader must not pass them back and forth.
	hop = "Weir-Relayed"
	// fresh is how long the answer to who leads counts.
	fresh = time.Second
	// answer is how long the leader may take to begin its answer.
	answer = 10 * time.Second
	dial   = 5 * time.Second
)

// Identity returns the name of a replica in an election, which tells the others
// where it serves artifacts. It is another at each call.
func Identity(addr string) string { return addr + "_" + rand.Text() }

// Address returns the address in an identity, or nothing when it has none.
func Address(identity string) string {
	addr, _, ok := strings.Cut(identity, "_")
	if _, _, err := net.SplitHostPort(addr); !ok || err != nil {
		return ""
	}
	return addr
}

// Handler answers requests with own while this replica leads, and passes them on
// otherwise. Probes, which ask for /, are answered in any case: they ask whether
// this replica is there. As long as nobody leads the answer is 503, which
// consumers try again; never 404, which would say that there is no artifact.
//
// Leading is closed when this replica leads, which never ends but with the
// program. Leader returns the identity of who does.
func Handler(own http.Handler, leading <-chan struct{}, leader func(context.Context) (string, error)) http.Handler {
	w := &who{ask: leader}
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(r.In.Context().Value(target{}).(*url.URL)) // which is set below
			r.Out.Header.Set(hop, "1")
		},
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: dial}).DialContext,
			ResponseHeaderTimeout: answer,
			DisableCompression:    true,
			MaxIdleConnsPerHost:   16,
			IdleConnTimeout:       time.Minute,
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { unavailable(w, "the leader does not answer") },
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-leading:
			own.ServeHTTP(rw, r)
			return
		default:
		}
		if r.URL.Path == "/" {
			rw.WriteHeader(http.StatusNoContent)
			return
		}
		addr := Address(w.leads(r.Context()))
		switch {
		case r.Header.Get(hop) != "":
			unavailable(rw, "the leader changes")
		case addr == "":
			unavailable(rw, "nobody leads yet")
		default:
			to := &url.URL{Scheme: "http", Host: addr}
			pass.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), target{}, to)))
		}
	})
}

// target is the key of the address that a request is passed on to.
type target struct{}

func unavailable(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// who remembers for a moment who leads.
type who struct {
	ask func(context.Context) (string, error)

	mu    sync.Mutex
	last  string    // guarded by mu
	since time.Time // guarded by mu
}

// leads returns the identity of the leader, or nothing if nobody knows.
func (w *who) leads(ctx context.Context) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.since) < fresh {
		return w.last
	}
	// The one who asks, asks for all that wait: an end of its request must not
	// be theirs.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dial)
	defer cancel()
	is, err := w.ask(ctx)
	if err != nil {
		is = ""
	}
	w.last, w.since = is, time.Now()
	return is
}
