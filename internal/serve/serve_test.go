package serve_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/internal/serve"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/internal/store/storetest"
)

// stored returns a handler of a store with one artifact, its bytes, and the
// store's directory.
func stored(t testing.TB) (h http.Handler, a store.Artifact, data, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	d, err := store.OpenDisk(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	a = storetest.Put(t, d, types.NamespacedName{Namespace: "apps", Name: "app"}, storetest.Tree(t, map[string]string{"a": "hello"}))
	raw, err := os.ReadFile(filepath.Join(dir, a.Path))
	if err != nil {
		t.Fatal(err)
	}
	return serve.Handler(d), a, string(raw), dir
}

func ask(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, "/", http.NoBody)
	r.URL = &url.URL{Path: target}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t testing.TB, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRequests(t *testing.T) {
	h, a, data, _ := stored(t)
	etag := `"` + a.Digest + `"`
	at, n := "/"+a.Path, len(data)
	for name, c := range map[string]struct {
		method, path string
		header       []string
		code         int
		body         string
		want         map[string]string
	}{
		"get": {"GET", at, nil, 200, data, map[string]string{
			"ETag": etag, "Content-Type": "application/gzip", "Cache-Control": "public, max-age=3600, immutable",
			"Accept-Ranges": "bytes", "Content-Length": itoa(n), "Last-Modified": "", "Content-Encoding": "", "X-Content-Type-Options": "nosniff",
		}},
		"head": {"HEAD", at, nil, 200, "", map[string]string{"ETag": etag, "Content-Length": itoa(n), "Content-Type": "application/gzip"}},
		"range": {"GET", at, []string{"Range", "bytes=3-6"}, 206, data[3:7], map[string]string{
			"Content-Range": "bytes 3-6/" + itoa(n), "ETag": etag, "Content-Type": "application/gzip",
		}},
		"range to the end":       {"GET", at, []string{"Range", "bytes=5-"}, 206, data[5:], nil},
		"range from the end":     {"GET", at, []string{"Range", "bytes=-4"}, 206, data[n-4:], nil},
		"head of a range":        {"HEAD", at, []string{"Range", "bytes=3-6"}, 206, "", map[string]string{"Content-Length": "4"}},
		"range beyond the end":   {"GET", at, []string{"Range", "bytes=99999-"}, 416, "invalid range: failed to overlap\n", map[string]string{"Content-Range": "bytes */" + itoa(n)}},
		"if none match":          {"GET", at, []string{"If-None-Match", etag}, 304, "", map[string]string{"ETag": etag, "Content-Type": ""}},
		"if none match, weak":    {"GET", at, []string{"If-None-Match", `"x", W/` + etag}, 304, "", nil},
		"if none match, any":     {"HEAD", at, []string{"If-None-Match", "*"}, 304, "", nil},
		"if none match, other":   {"GET", at, []string{"If-None-Match", `"x"`}, 200, data, nil},
		"if range":               {"GET", at, []string{"If-Range", etag, "Range", "bytes=5-"}, 206, data[5:], nil},
		"if range, other":        {"GET", at, []string{"If-Range", `"x"`, "Range", "bytes=5-"}, 200, data, nil},
		"if range, weak":         {"GET", at, []string{"If-Range", "W/" + etag, "Range", "bytes=5-"}, 200, data, nil},
		"if match":               {"GET", at, []string{"If-Match", etag}, 200, data, nil},
		"if match, other":        {"GET", at, []string{"If-Match", `"x"`}, 412, "", nil},
		"probe":                  {"GET", "/", nil, 204, "", map[string]string{"ETag": ""}},
		"head of the probe":      {"HEAD", "/", nil, 204, "", nil},
		"nothing there":          {"GET", "/externalartifact/apps/other/" + path.Base(a.Path), nil, 404, "artifact not found\n", map[string]string{"Cache-Control": "", "ETag": ""}},
		"a directory":            {"GET", path.Dir(at), nil, 404, "artifact not found\n", nil},
		"a directory, slash":     {"GET", path.Dir(at) + "/", nil, 404, "artifact not found\n", nil},
		"the top":                {"GET", "/externalartifact/", nil, 404, "artifact not found\n", nil},
		"no path":                {"GET", "", nil, 404, "artifact not found\n", nil},
		"post":                   {"POST", at, nil, 405, "method not allowed\n", map[string]string{"Allow": "GET, HEAD"}},
		"put":                    {"PUT", at, nil, 405, "method not allowed\n", nil},
		"delete":                 {"DELETE", at, nil, 405, "method not allowed\n", nil},
		"options":                {"OPTIONS", "/", nil, 405, "method not allowed\n", nil},
		"a method in lower case": {"get", at, nil, 405, "method not allowed\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(h, c.method, c.path, c.header...)
			if got := body(t, r); r.StatusCode != c.code || got != c.body {
				t.Errorf("%d with %d bytes, want %d with %d", r.StatusCode, len(got), c.code, len(c.body))
			}
			for k, v := range c.want {
				if got := r.Header.Get(k); got != v {
					t.Errorf("%s: %q, want %q", k, got, v)
				}
			}
		})
	}
}

func TestSeveralRanges(t *testing.T) {
	h, a, _, _ := stored(t)
	r := ask(h, "GET", "/"+a.Path, "Range", "bytes=0-1,5-6")
	if got := r.Header.Get("Content-Type"); r.StatusCode != http.StatusPartialContent || !strings.HasPrefix(got, "multipart/byteranges") || !strings.Contains(body(t, r), "application/gzip") {
		t.Errorf("%d, %q", r.StatusCode, got)
	}
}

type broken struct{}

func (broken) Open(string) (*store.File, error) {
	return nil, &fs.PathError{Op: "open", Path: "/data/secret", Err: fs.ErrPermission}
}

func TestDiskFails(t *testing.T) {
	r := ask(serve.Handler(broken{}), "GET", "/x")
	if got := body(t, r); r.StatusCode != http.StatusInternalServerError || got != "artifact cannot be read\n" || r.Header.Get("Cache-Control") != "" {
		t.Errorf("%d: %q, %v", r.StatusCode, got, r.Header)
	}
}

const secret = "the bytes of something else"

// FuzzPath asks for paths around an artifact. Its own path alone answers with
// bytes; whatever else is near by does not show.
func FuzzPath(f *testing.F) {
	h, a, data, dir := stored(f)
	artifact := path.Dir(a.Path)
	base := path.Base(a.Path)
	zeros := strings.Repeat("0", 64) + ".tar.gz"
	for _, name := range []string{"../secret", "secret", "x.tar.gz", zeros, artifact + "/.tmp-A", artifact + "/x.tar.gz", artifact + "/" + base + ".lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Symlink("../../../../secret", filepath.Join(dir, artifact, zeros)),
		os.Symlink("..", filepath.Join(dir, "externalartifact", "up")),
		os.Symlink("../..", filepath.Join(dir, "externalartifact", "out")),
	); err != nil {
		f.Fatal(err)
	}
	hex := strings.TrimSuffix(base, ".tar.gz")
	for _, p := range []string{
		"/", "", "/" + a.Path, "//" + a.Path, "/" + artifact, "/" + artifact + "/", "/../secret", "/secret", "/x.tar.gz", "/" + artifact + "/.tmp-A",
		"/" + artifact + "/." + hex + ".sum", "/" + artifact + "/" + zeros, "/externalartifact/up/apps/" + base, "/externalartifact/out/store/" + zeros,
		"/" + artifact + "/../app/" + base, "/externalartifact/apps/../../secret", "/%2e%2e/secret", `/..\secret`, "/" + a.Path + "\x00", "/index.html",
		"/" + a.Path + "/index.html", "/" + a.Path + "?x", "/./" + a.Path, "/" + artifact + "/*",
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		r := ask(h, "GET", p)
		got := body(t, r)
		switch {
		case p == "/"+a.Path || p == a.Path:
			if r.StatusCode != http.StatusOK || got != data {
				t.Errorf("the artifact answers %d", r.StatusCode)
			}
		case p == "/":
			if r.StatusCode != http.StatusNoContent || got != "" {
				t.Errorf("the probe answers %d, %q", r.StatusCode, got)
			}
		case r.StatusCode != http.StatusNotFound || got != "artifact not found\n":
			t.Errorf("%q answers %d, %q", p, r.StatusCode, got)
		}
	})
}

func TestURL(t *testing.T) {
	for _, c := range []struct{ addr, path, want string }{
		{"weir.flux-system.svc.cluster.local.", "externalartifact/a/b/c.tar.gz", "http://weir.flux-system.svc.cluster.local./externalartifact/a/b/c.tar.gz"},
		{"localhost:9090", "/x", "http://localhost:9090/x"},
		{"[::1]:9090", "x", "http://[::1]:9090/x"},
		{"http://host.", "x", "http://host./x"},
		{"https://host/", "x", "https://host/x"},
		{"https://host/prefix", "x", "https://host/prefix/x"},
	} {
		if got := serve.URL(c.addr, c.path); got != c.want {
			t.Errorf("URL(%q, %q) = %q, want %q", c.addr, c.path, got, c.want)
		}
	}
}
