// Package serve hands artifacts out over HTTP: those that a store opens, and
// nothing else. It lists nothing, knows no directories and authorises nobody;
// who may connect is for a NetworkPolicy to say.
package serve

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/store"
)

// Opener is what is served. [store.Store] has it.
type Opener interface {
	// Open opens the artifact at a path; it wraps [fs.ErrNotExist] for every
	// path that holds none.
	Open(path string) (*store.File, error)
}

// caching allows caches to answer for a while without asking: a path never gets
// other content. It may get other bytes, when a release with another compressor
// packs anew what was lost, so the while is not the usual year: a cache would
// keep consumers from the tarball whose digest the ExternalArtifact tells.
const caching = "public, max-age=3600, immutable"

// Handler returns a handler of GET and HEAD requests. The path / answers 204,
// for probes; the paths of artifacts answer with their bytes, whole or in
// ranges, under a strong ETag that is the tarball's digest; all others answer
// 404. There are no redirects: the path of a request counts as it is.
func Handler(files Opener) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		if r.URL.Path == "/" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		f, err := files.Open(strings.TrimPrefix(r.URL.Path, "/"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			http.Error(w, "artifact not found", http.StatusNotFound)
			return
		case err != nil:
			// What is wrong with the disk is not for everybody to know.
			http.Error(w, "artifact cannot be read", http.StatusInternalServerError)
			return
		}
		defer f.Close()
		h := w.Header()
		h.Set("Content-Type", "application/gzip")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", caching)
		h.Set("ETag", `"`+f.Digest+`"`)
		// Without a time there is no Last-Modified: that of the file tells when
		// it was put last, not when it changed.
		http.ServeContent(w, r, "", time.Time{}, f.ReadSeekCloser)
	})
}

// URL returns the URL of the artifact at path on a server that is advertised
// as addr, a host with or without a port. It is plain HTTP unless addr begins
// with a scheme. A trailing dot of the host, which spares resolvers the search
// list, stays.
func URL(addr, path string) string {
	if !strings.HasPrefix(addr, "http://") && !strings.HasPrefix(addr, "https://") {
		addr = "http://" + addr
	}
	return strings.TrimRight(addr, "/") + "/" + strings.TrimLeft(path, "/")
}
