package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/internal/serve"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/internal/store/storetest"
)

// shelf is a server of one checked artifact.
type shelf struct {
	*httptest.Server
	files serve.Opener
	path  string
	file  string // of the disk

	mu      sync.Mutex
	damaged []string // guarded by mu
}

func (s *shelf) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.damaged)
}

func newShelf(t *testing.T, size int) *shelf {
	t.Helper()
	dir := t.TempDir()
	d, err := store.OpenDisk(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	var text strings.Builder
	for i := range size / 8 {
		text.WriteString(strings.Repeat(string(rune('a'+i%26)), i%16)) // no compressor makes it vanish
	}
	a := storetest.Put(t, d, types.NamespacedName{Namespace: "apps", Name: "app"}, storetest.Tree(t, map[string]string{"a": text.String()}))
	s := &shelf{path: a.Path, file: filepath.Join(dir, a.Path)}
	s.files = serve.Checked(d, func(path string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.damaged = append(s.damaged, path)
	})
	s.Server = httptest.NewServer(serve.Handler(s.files))
	t.Cleanup(s.Close)
	return s
}

// rot changes a byte in the middle, as a disk does: neither size nor time tell.
func (s *shelf) rot(t *testing.T) {
	t.Helper()
	info, err := os.Stat(s.file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(s.file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(s.file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// get returns what a client gets, and an error when it is not all.
func (s *shelf) get(t *testing.T, ranges string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/"+s.path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if ranges != "" {
		req.Header.Set("Range", ranges)
	}
	res, err := s.Client().Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return string(data), err
}

// A damaged file is never had as a whole, whatever its size, and not in parts
// that nobody has checked; the keeper of the store hears of it.
func TestDamagedFilesAreNotServed(t *testing.T) {
	for name, size := range map[string]int{"small": 8, "large": 8 << 20} {
		for _, ranges := range []string{"", "bytes=0-", "bytes=1-", "bytes=-2", "bytes=1-2"} {
			t.Run(name+" "+ranges, func(t *testing.T) {
				s := newShelf(t, size)
				s.rot(t)
				data, err := s.get(t, ranges)
				if err == nil {
					t.Errorf("got %d bytes and no error", len(data))
				}
				if got := s.told(); len(got) == 0 || got[0] != s.path {
					t.Errorf("told of %q", got)
				}
			})
		}
	}
}

// A file that was whole when it was first read may rot later.
func TestFilesThatRotAreNotServed(t *testing.T) {
	s := newShelf(t, 1<<20)
	if _, err := s.get(t, "bytes=5-"); err != nil {
		t.Fatal(err)
	}
	whole, err := s.get(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if part, err := s.get(t, "bytes=5-"); err != nil || part != whole[5:] {
		t.Errorf("%d bytes of %d, %v", len(part), len(whole), err)
	}
	s.rot(t)
	for range 2 {
		if _, err := s.get(t, ""); err == nil {
			t.Error("it is served")
		}
	}
	if _, err := s.get(t, "bytes=5-"); err == nil {
		t.Error("a part is served of what is known to be damaged")
	}
}

// Checked files read like any other.
func TestCheckedFilesRead(t *testing.T) {
	s := newShelf(t, 1<<16)
	want, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.files.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := iotest.TestReader(f, want); err != nil {
		t.Error(err)
	}
	if got := s.told(); len(got) > 0 {
		t.Errorf("told of %q", got)
	}
}
