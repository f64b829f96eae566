package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// sources serves the artifacts of sources, like source-controller, but keeps
// all of them. Its methods may be called concurrently.
type sources struct {
	url string

	mu       sync.Mutex
	files    map[string][]byte // by path
	manners  map[string]manner // by directory; those not in it are served well
	requests []string          // paths, in the order of their arrival
}

func newSources(t *testing.T) *sources {
	t.Helper()
	s := &sources{files: map[string][]byte{}, manners: map[string]manner{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.CloseClientConnections) // those that stall
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// directory returns that of a source's artifacts, without slashes around.
func (p publication) directory() string {
	return path.Join(strings.ToLower(p.kind), p.namespace, p.name)
}

// serve makes the tarball available and returns what a status says of it.
func (s *sources) serve(p publication, tarball []byte) map[string]any {
	digest := sha256.Sum256(tarball)
	hexDigest := hex.EncodeToString(digest[:])
	file := path.Join(p.directory(), hexDigest+".tar.gz")
	s.mu.Lock()
	s.files["/"+file] = tarball
	s.mu.Unlock()
	artifact := map[string]any{
		"path": file, "url": s.url + "/" + file, "digest": "sha256:" + hexDigest,
		"revision": p.revision, "size": int64(len(tarball)), "lastUpdateTime": now(),
	}
	if p.origin != "" {
		artifact["metadata"] = map[string]any{originRevision: p.origin}
	}
	return artifact
}

func (s *sources) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	data, ok := s.files[r.URL.Path]
	serve := s.manners[strings.Trim(path.Dir(r.URL.Path), "/")]
	s.requests = append(s.requests, r.URL.Path)
	s.mu.Unlock()
	switch {
	case !ok:
		http.NotFound(w, r)
	case serve != nil:
		serve(w, r, data)
	default:
		http.ServeContent(w, r, path.Base(r.URL.Path), time.Time{}, bytes.NewReader(data))
	}
}

// count returns how many requests there have been.
func (s *sources) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// since returns the requests after the first n for sources of a namespace, or
// of all if it is empty.
func (s *sources) since(n int, namespace string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, file := range s.requests[n:] {
		if namespace == "" || strings.Split(file, "/")[2] == namespace {
			out = append(out, file)
		}
	}
	return out
}

// behave has the artifacts of a source served in a manner from now on.
func (s *sources) behave(p publication, name string) error {
	m, ok := manners[name]
	if !ok {
		return fmt.Errorf("%w: %q is no manner of serving", errUsage, name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.manners[p.directory()] = m
	return nil
}

// manner is a way to answer a request for a tarball.
type manner func(w http.ResponseWriter, r *http.Request, tarball []byte)

var manners = map[string]manner{
	"well": nil,
	// The connection breaks before there is an answer.
	"down": func(http.ResponseWriter, *http.Request, []byte) { panic(http.ErrAbortHandler) },
	// A gateway has no server behind it.
	"unavailable": func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		http.Error(w, "try again", http.StatusServiceUnavailable)
	},
	"missing": func(w http.ResponseWriter, r *http.Request, _ []byte) { http.NotFound(w, r) },
	// The connection breaks in the middle.
	"truncated": func(w http.ResponseWriter, _ *http.Request, tarball []byte) {
		w.Header().Set("Content-Length", strconv.Itoa(len(tarball)))
		send(w, tarball[:len(tarball)/2])
		panic(http.ErrAbortHandler)
	},
	// The answer ends in the middle, as if that were all.
	"cut": func(w http.ResponseWriter, _ *http.Request, tarball []byte) { send(w, tarball[:len(tarball)/2]) },
	// It has as many bytes, but others.
	"wrong": func(w http.ResponseWriter, _ *http.Request, tarball []byte) {
		other := slices.Clone(tarball)
		slices.Reverse(other)
		send(w, other)
	},
	// It begins and then says nothing more.
	"stalled": func(w http.ResponseWriter, r *http.Request, tarball []byte) {
		send(w, tarball[:len(tarball)/2])
		<-r.Context().Done()
	},
	// It begins and never ends.
	"endless": func(w http.ResponseWriter, r *http.Request, tarball []byte) {
		send(w, tarball)
		for r.Context().Err() == nil {
			send(w, make([]byte, 1<<20))
		}
	},
	// It is a file without end, of which few bytes are on the wire.
	"bomb": func(w http.ResponseWriter, r *http.Request, _ []byte) {
		z := gzip.NewWriter(w)
		t := tar.NewWriter(z)
		err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "zeros", Mode: 0o644, Size: 1 << 40})
		for err == nil && r.Context().Err() == nil {
			_, err = t.Write(make([]byte, 1<<20))
		}
	},
}

func send(w http.ResponseWriter, data []byte) {
	_, _ = w.Write(data) // the client may have gone
	_ = http.NewResponseController(w).Flush()
}
