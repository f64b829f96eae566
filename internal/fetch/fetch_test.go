package fetch_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/archive"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/fetch"
)

const address = "http://source.example/a.tar.gz"

// tarball holds the files of name, content, name, content, …
func tarball(t testing.TB, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw := tar.NewWriter(zw)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// noise is text that does not compress.
func noise(n int) string {
	r := rand.NewChaCha8([32]byte{})
	data := make([]byte, n)
	_, _ = r.Read(data)
	return string(data)
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func artifactOf(data []byte) fetch.Artifact {
	return fetch.Artifact{URL: address, Digest: digestOf(data), Size: int64(len(data))}
}

// server answers the requests with the handlers one after the other, and all
// further ones with the last. All hosts are this server.
type server struct {
	http.RoundTripper
	requests atomic.Int64
}

func serve(t *testing.T, handlers ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	srv := httptest.NewTestServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(s.requests.Add(1))
		handlers[min(n, len(handlers))-1](w, r)
	}))
	s.RoundTripper = srv.Client().Transport
	return s
}

func sends(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }
}

func answers(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// breaks sends half of the data and ends the connection.
func breaks(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:len(data)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// hangs sends half of the data and then nothing.
func hangs(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:len(data)/2])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// drips sends the data in four parts, a second each.
func drips(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := range 4 {
			_, _ = w.Write(data[i*len(data)/4 : (i+1)*len(data)/4])
			w.(http.Flusher).Flush()
			time.Sleep(time.Second)
		}
	}
}

func redirects(to func(r *http.Request) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to(r), http.StatusFound) }
}

func read(t *testing.T, s *fetch.Source, name string) string {
	t.Helper()
	data, err := s.Tree.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// leavesNothing fails the test when the directory has an entry.
func leavesNothing(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left on disk: %v, %v", left, err)
	}
}

// What a server can do wrong, and how often it is asked.
func TestFaults(t *testing.T) {
	good := tarball(t, "dir/file", "content", "noise", noise(100_000))
	other := tarball(t, "dir/file", "another")
	for name, c := range map[string]struct {
		handlers []http.HandlerFunc
		artifact fetch.Artifact // default: that of good
		opts     fetch.Options
		requests int64
		want     string // in the error; empty: success
		interval bool   // wait for another artifact
	}{
		"good":                  {handlers: []http.HandlerFunc{sends(good)}, requests: 1},
		"slow":                  {handlers: []http.HandlerFunc{drips(good)}, requests: 1, opts: fetch.Options{Stall: 2 * time.Second}},
		"503, then good":        {handlers: []http.HandlerFunc{answers(503), answers(500), sends(good)}, requests: 3},
		"503":                   {handlers: []http.HandlerFunc{answers(503)}, requests: 10, want: "the server answers 503 Service Unavailable"},
		"no retries":            {handlers: []http.HandlerFunc{answers(503)}, requests: 1, opts: fetch.Options{Retries: -1}, want: "503"},
		"404":                   {handlers: []http.HandlerFunc{answers(404)}, requests: 1, want: "the server answers 404 Not Found"},
		"410":                   {handlers: []http.HandlerFunc{answers(410)}, requests: 1, want: "410 Gone"},
		"403":                   {handlers: []http.HandlerFunc{answers(403)}, requests: 1, want: "403 Forbidden"},
		"204":                   {handlers: []http.HandlerFunc{answers(204)}, requests: 1, want: "204 No Content"},
		"breaks off, then good": {handlers: []http.HandlerFunc{breaks(good), sends(good)}, requests: 2},
		"breaks off":            {handlers: []http.HandlerFunc{breaks(good)}, requests: 10, want: "the download breaks off: unexpected EOF"},
		"hangs, then good":      {handlers: []http.HandlerFunc{hangs(good), sends(good)}, requests: 2},
		"hangs":                 {handlers: []http.HandlerFunc{hangs(good)}, requests: 3, opts: fetch.Options{Retries: 2}, want: "the server sends nothing for 30s"},
		"short of its size":     {handlers: []http.HandlerFunc{sends(good[:1000]), sends(good)}, requests: 2},
		"the wrong digest": {
			handlers: []http.HandlerFunc{sends(other)}, requests: 1,
			artifact: fetch.Artifact{URL: address, Digest: digestOf(good)}, want: "the digest of the tarball is not " + digestOf(good),
		},
		"the wrong digest and no archive": {
			handlers: []http.HandlerFunc{sends([]byte("<html>"))}, requests: 1,
			artifact: fetch.Artifact{URL: address, Digest: digestOf(good)}, want: "the digest of the tarball is not " + digestOf(good),
		},
		"the wrong size and the right digest": {
			handlers: []http.HandlerFunc{sends(good)}, requests: 1,
			artifact: fetch.Artifact{URL: address, Digest: digestOf(good), Size: 1e6},
		},
		"a truncated gzip stream": {
			handlers: []http.HandlerFunc{sends(good[:5000])}, requests: 1, artifact: artifactOf(good[:5000]),
			want: "unpacking: ", interval: true,
		},
		"a hostile archive": {
			handlers: []http.HandlerFunc{sends(tarball(t, "../../etc/passwd", ""))}, requests: 1,
			artifact: artifactOf(tarball(t, "../../etc/passwd", "")), want: `entry "../../etc/passwd": invalid name`, interval: true,
		},
		"too much in it": {
			handlers: []http.HandlerFunc{sends(good)}, requests: 1, opts: fetch.Options{Archive: archive.Options{MaxBytes: 1000}},
			want: "the files of the archive have more than 1000 bytes", interval: true,
		},
		"huge by its size": {
			requests: 0, artifact: fetch.Artifact{URL: address, Digest: digestOf(good), Size: 2 << 30},
			want: "larger than allowed: more than 1073741824 bytes", interval: true,
		},
		"huge by its length": {
			handlers: []http.HandlerFunc{breaks(good)}, requests: 1, opts: fetch.Options{MaxDownload: 1000},
			artifact: fetch.Artifact{URL: address, Digest: digestOf(good)}, want: "more than 1000 bytes", interval: true,
		},
		"huge without saying": {
			handlers: []http.HandlerFunc{drips(good)}, requests: 1, opts: fetch.Options{MaxDownload: 1000},
			artifact: fetch.Artifact{URL: address, Digest: digestOf(good)}, want: "more than 1000 bytes", interval: true,
		},
		"more than its size": {
			handlers: []http.HandlerFunc{endless(good)}, requests: 1,
			artifact: fetch.Artifact{URL: address, Digest: digestOf(good), Size: int64(len(good))},
			want:     fmt.Sprintf("more than the %d bytes that its source tells of", len(good)),
		},
		"an archive without end": {
			handlers: []http.HandlerFunc{endless(good[:len(good)/2])}, requests: 1,
			artifact: fetch.Artifact{URL: address, Digest: digestOf(good)}, want: "unpacking: ", interval: true,
		},
		"a download without end": {
			handlers: []http.HandlerFunc{endless(good)}, requests: 1,
			artifact: fetch.Artifact{URL: address, Digest: digestOf(good)}, want: "unpacking: ", interval: true,
		},
		"redirects to itself": {
			handlers: []http.HandlerFunc{redirects(func(*http.Request) string { return "/b" }), sends(good)}, requests: 2,
		},
		"redirects without end": {
			handlers: []http.HandlerFunc{redirects(func(*http.Request) string { return "/b" })}, requests: 6, want: "redirect refused: more than 5",
		},
		"redirects to another host": {
			handlers: []http.HandlerFunc{redirects(func(*http.Request) string { return "http://bucket.example/" }), sends(good)}, requests: 2,
		},
		"redirects from host to host": {
			handlers: []http.HandlerFunc{redirects(func(r *http.Request) string { return "http://x." + r.Host + "/" })}, requests: 2,
			want: "redirect refused: more than 1 to another host",
		},
		"redirects to plain text": {
			handlers: []http.HandlerFunc{redirects(func(*http.Request) string { return address }), sends(good)}, requests: 1,
			artifact: fetch.Artifact{URL: "https://source.example/a", Digest: digestOf(good)}, want: "redirect refused: from https to http",
		},
		"no digest":     {artifact: fetch.Artifact{URL: address}, want: "there is no digest", interval: true},
		"half a digest": {artifact: fetch.Artifact{URL: address, Digest: "sha256:abc"}, want: "want 64 hexadecimal digits", interval: true},
		"blake3":        {artifact: fetch.Artifact{URL: address, Digest: "blake3:abc"}, want: `algorithm "blake3" is not supported`, interval: true},
		"no URL":        {artifact: fetch.Artifact{Digest: digestOf(good)}, want: "not an http or https URL", interval: true},
		"a file":        {artifact: fetch.Artifact{URL: "file:///etc/passwd", Digest: digestOf(good)}, want: "not an http or https URL", interval: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				srv := serve(t, c.handlers...)
				c.opts.Transport, c.opts.Dir = srv, dir
				if c.artifact == (fetch.Artifact{}) {
					c.artifact = artifactOf(good)
				}
				cache := fetch.New(c.opts)
				s, err := cache.Get(t.Context(), c.artifact)
				if n := srv.requests.Load(); n != c.requests {
					t.Errorf("%d requests, want %d", n, c.requests)
				}
				leavesNothing(t, dir)
				if c.want == "" {
					if err != nil {
						t.Fatal(err)
					}
					defer s.Close()
					if got := read(t, s, "dir/file"); got != "content" {
						t.Errorf("got %q", got)
					}
					return
				}
				wantFailure(t, err, c.want, c.interval)
				if st := cache.Stats(); st.Kept != 0 || st.KeptBytes != 0 {
					t.Errorf("kept after a failure: %+v", st)
				}
			})
		})
	}
}

// endless sends the data and then zeros as long as anybody reads them.
func endless(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(data)
		for zeros := make([]byte, 64<<10); err == nil; {
			_, err = w.Write(zeros)
		}
	}
}

func wantFailure(t *testing.T, err error, want string, interval bool) {
	t.Helper()
	f, ok := fail.As(err)
	if !ok || f.Reason != v1beta1.ReasonSourceFetchFailed || f.Class != fail.Wait || !strings.Contains(f.Error(), want) {
		t.Fatalf("got %#v: %v\nwant %q", f, err, want)
	}
	if (f.After == 0) != interval {
		t.Errorf("the next try is after %s", f.After)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What users read is the same at every try: no ports, no secrets.
func TestNetworkErrorsAreStable(t *testing.T) {
	port := 40000
	tcp := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port} }
	for name, c := range map[string]struct {
		err  func() error
		want string
	}{
		"reset": {
			func() error {
				return &net.OpError{Op: "read", Net: "tcp", Source: tcp(port), Addr: tcp(80), Err: errors.New("connection reset")}
			},
			`fetching "http://source.example/a": read tcp 10.0.0.1:80: connection reset`,
		},
		"no such host": {
			func() error {
				return &net.OpError{Op: "dial", Err: &net.DNSError{Name: "source.example", IsNotFound: true, Server: strconv.Itoa(port)}}
			},
			`fetching "http://source.example/a": looking up "source.example": no such host`,
		},
		"name server away": {
			func() error {
				return &net.DNSError{Name: "source.example", Err: fmt.Sprintf("read udp 10.0.0.1:%d: i/o timeout", port)}
			},
			`fetching "http://source.example/a": looking up "source.example": no answer`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				cache := fetch.New(fetch.Options{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
					port++
					tries++
					return nil, c.err()
				})})
				start := time.Now()
				_, err := cache.Get(t.Context(), fetch.Artifact{URL: "http://u:secret@source.example/a?token=secret", Digest: digestOf(nil)})
				wantFailure(t, err, c.want, false)
				if err.Error() != c.want || tries != 10 {
					t.Errorf("after %d tries: %v", tries, err)
				}
				if took := time.Since(start); took > time.Minute {
					t.Errorf("gave up after %s", took)
				}
			})
		})
	}
}

func TestAlgorithms(t *testing.T) {
	data := tarball(t, "f", "x")
	s384, s512 := sha512.Sum384(data), sha512.Sum512(data)
	for _, digest := range []string{
		digestOf(data), strings.ToUpper(digestOf(data)),
		"sha384:" + hex.EncodeToString(s384[:]), "sha512:" + hex.EncodeToString(s512[:]),
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := fetch.New(fetch.Options{Transport: serve(t, sends(data))}).Get(t.Context(), fetch.Artifact{URL: address, Digest: digest})
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
		})
	}
}

func TestFullDisk(t *testing.T) {
	data := tarball(t, "f", "x")
	synctest.Test(t, func(t *testing.T) {
		srv := serve(t, sends(data))
		cache := fetch.New(fetch.Options{Transport: srv, Dir: "/nonexistent"})
		_, err := cache.Get(t.Context(), artifactOf(data))
		wantFailure(t, err, "creating a pack file", false)
		if n := srv.requests.Load(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// A bug does not end the program, but the call that can recover.
func TestPanicReachesTheCaller(t *testing.T) {
	cache := fetch.New(fetch.Options{Transport: roundTripper(func(*http.Request) (*http.Response, error) { panic("a bug") })})
	defer func() {
		if v := recover(); v == nil || !strings.HasPrefix(fmt.Sprint(v), "a bug\n") {
			t.Errorf("recovered %v", v)
		}
	}()
	_, err := cache.Get(t.Context(), artifactOf(nil))
	t.Error(err)
}

func TestFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want fetch.Options
		bad  bool
	}{
		"none":     {},
		"both":     {args: []string{"--http-retry=3", "--source-cache-size=512Mi"}, want: fetch.Options{Retries: 3, CacheBytes: 512 << 20}},
		"zeros":    {args: []string{"--http-retry=0", "--source-cache-size=0"}, want: fetch.Options{Retries: -1, CacheBytes: -1}},
		"negative": {args: []string{"--http-retry=-1"}, bad: true},
		"no size":  {args: []string{"--source-cache-size=big"}, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			var got fetch.Options
			fs := flag.NewFlagSet("", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			got.Flags(fs)
			if err := fs.Parse(c.args); (err != nil) != c.bad {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
