package relay_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/relay"
)

// files answers like the server of artifacts.
func files(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.WriteHeader(http.StatusNoContent)
	case "/a.tar.gz":
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("artifact"))
	default:
		http.Error(w, "artifact not found", http.StatusNotFound)
	}
}

// replica is one of several, and leads when lead is called.
func replica(t *testing.T, leader func(context.Context) (string, error)) (srv *httptest.Server, identity string, lead func()) {
	t.Helper()
	leading := make(chan struct{})
	srv = httptest.NewServer(relay.Handler(http.HandlerFunc(files), leading, leader))
	t.Cleanup(srv.Close)
	return srv, relay.Identity(srv.Listener.Addr().String()), sync.OnceFunc(func() { close(leading) })
}

func ask(t *testing.T, url string, header ...string) (code int, body string, h http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data), res.Header
}

func TestStandbyPassesOn(t *testing.T) {
	var identity atomic.Value
	who := func(context.Context) (string, error) { return identity.Load().(string), nil }
	leader, id, lead := replica(t, who)
	identity.Store(id)
	lead()
	standby, _, promote := replica(t, who)
	for _, srv := range []*httptest.Server{leader, standby} {
		if code, body, h := ask(t, srv.URL+"/a.tar.gz"); code != 200 || body != "artifact" || h.Get("ETag") != `"x"` || h.Get("Content-Length") != "8" {
			t.Errorf("%d %q, %v", code, body, h)
		}
		if code, body, _ := ask(t, srv.URL+"/a.tar.gz", "Range", "bytes=2-3"); code != 206 || body != "ti" {
			t.Errorf("a range: %d %q", code, body)
		}
		if code, _, _ := ask(t, srv.URL+"/a.tar.gz", "If-None-Match", `"x"`); code != 304 {
			t.Errorf("unchanged: %d", code)
		}
		if code, _, _ := ask(t, srv.URL+"/b.tar.gz"); code != 404 {
			t.Errorf("missing: %d", code)
		}
		if code, _, _ := ask(t, srv.URL+"/"); code != 204 {
			t.Errorf("probe: %d", code)
		}
	}
	leader.Close()
	if code, _, h := ask(t, standby.URL+"/a.tar.gz"); code != 503 || h.Get("Retry-After") == "" {
		t.Errorf("the leader is gone: %d", code)
	}
	promote()
	if code, body, _ := ask(t, standby.URL+"/a.tar.gz"); code != 200 || body != "artifact" {
		t.Errorf("promoted: %d %q", code, body)
	}
}

// While nobody leads consumers are asked to come back, and probes are answered.
func TestNobodyLeads(t *testing.T) {
	for name, who := range map[string]func(context.Context) (string, error){
		"nobody":            func(context.Context) (string, error) { return "", nil },
		"nobody knows":      func(context.Context) (string, error) { return "", errors.New("no") },
		"somebody else":     func(context.Context) (string, error) { return "pod-0_5d2a", nil },
		"somebody is gone":  func(context.Context) (string, error) { return relay.Identity("127.0.0.1:1"), nil },
		"without an unique": func(context.Context) (string, error) { return "127.0.0.1:1", nil },
	} {
		srv, _, _ := replica(t, who)
		if code, _, h := ask(t, srv.URL+"/a.tar.gz"); code != 503 || h.Get("Retry-After") == "" {
			t.Errorf("%s: %d", name, code)
		}
		if code, _, _ := ask(t, srv.URL+"/"); code != 204 {
			t.Errorf("%s: the probe gets %d", name, code)
		}
	}
}

// Two that take each other for the leader do not keep a request between them.
func TestRequestsArePassedOnOnce(t *testing.T) {
	var one, other atomic.Value
	a, id, _ := replica(t, func(context.Context) (string, error) { return other.Load().(string), nil })
	one.Store(id)
	_, id, _ = replica(t, func(context.Context) (string, error) { return one.Load().(string), nil })
	other.Store(id)
	if code, _, _ := ask(t, a.URL+"/a.tar.gz"); code != 503 {
		t.Errorf("got %d", code)
	}
}

func TestWhoLeadsIsAskedNowAndThen(t *testing.T) {
	var n atomic.Int64
	srv, _, _ := replica(t, func(context.Context) (string, error) { n.Add(1); return "", nil })
	for range 20 {
		ask(t, srv.URL+"/a.tar.gz")
	}
	if n := n.Load(); n > 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestIdentity(t *testing.T) {
	for _, addr := range []string{"10.0.0.1:9090", "[fd00::1]:9090", "weir-controller-0:9090"} {
		if got := relay.Address(relay.Identity(addr)); got != addr {
			t.Errorf("%q became %q", addr, got)
		}
	}
	if one, other := relay.Identity("a:1"), relay.Identity("a:1"); one == other {
		t.Error("two processes have one name")
	}
}
