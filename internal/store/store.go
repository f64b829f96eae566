// Package store keeps packed artifacts on disk under names that their content
// decides, so that no path ever gets other content. It does not know which of
// them are in use: its callers say so when they sweep.
package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/tree"
)

// Store is where a pass puts what it made. All methods may be called
// concurrently.
type Store interface {
	// Put returns the artifact of that name whose content has the digest
	// content, which must be that of t, and packs t if it is not there. Calls
	// for the same artifact pack it once. When Put returns without an error the
	// artifact is on disk; with one, nothing of it is left. Errors of the disk
	// carry the reason ReconciliationFailed, a name that no object can have
	// ValidationFailed.
	Put(ctx context.Context, name types.NamespacedName, t tree.Tree, content blob.Digest) (Artifact, error)
	// Open opens the artifact at a path that Put returned. It wraps
	// [fs.ErrNotExist] for every path that holds none. The caller closes the
	// file, which stays readable when the artifact is removed.
	Open(path string) (*File, error)
	// Remove removes all artifacts of that name; that there are none is no
	// error. A failure carries the reason PruneFailed.
	Remove(ctx context.Context, name types.NamespacedName) error
}

// Artifact describes a stored tarball.
type Artifact struct {
	// Path is slash-separated and relative to the store's directory:
	// externalartifact/NAMESPACE/NAME/CONTENT.tar.gz.
	Path string
	// Digest is that of the tarball's bytes, as algorithm:hex, Size their number.
	Digest string
	Size   int64
}

// File is an open artifact.
type File struct {
	io.ReadSeekCloser
	Artifact
}

// Release says that the artifact at path, which may have been put a moment ago,
// is not going to be published, so that the next sweep need not wait for that.
// A store that waits for nothing need not have the method Release.
func Release(s Store, path string) {
	if r, ok := s.(interface{ Release(path string) }); ok {
		r.Release(path)
	}
}

// Stat returns the artifact at path in s without reading it. It fails as
// [Store.Open] does.
func Stat(s interface{ Open(string) (*File, error) }, path string) (Artifact, error) {
	f, err := s.Open(path)
	if err != nil {
		return Artifact{}, err
	}
	return f.Artifact, f.Close()
}

const (
	top    = "externalartifact"
	suffix = ".tar.gz"
)

// Path returns the path of the artifact of that name and content, whether it
// is there or not.
func Path(name types.NamespacedName, content blob.Digest) string {
	return path.Join(dirOf(name), content.String()+suffix)
}

func dirOf(name types.NamespacedName) string { return path.Join(top, name.Namespace, name.Name) }

// checkName refuses names that the API server would refuse. What passes is one
// element of a path and no dot file.
func checkName(name types.NamespacedName) error {
	problems := append(validation.IsDNS1123Label(name.Namespace), validation.IsDNS1123Subdomain(name.Name)...)
	if len(problems) == 0 {
		return nil
	}
	return fail.Stalled(v1beta1.ReasonValidationFailed, "artifact name %q in namespace %q: %s",
		name.Name, name.Namespace, strings.Join(problems, "; "))
}

// nameOf returns the name of the artifact at file and an error that wraps
// [fs.ErrNotExist] for a path that Path cannot return.
func nameOf(file string) (types.NamespacedName, error) {
	part := strings.Split(file, "/")
	if len(part) == 4 && part[0] == top && isTarball(part[3]) {
		name := types.NamespacedName{Namespace: part[1], Name: part[2]}
		if checkName(name) == nil {
			return name, nil
		}
	}
	return types.NamespacedName{}, fmt.Errorf("artifact %q: %w", file, fs.ErrNotExist)
}

// isTarball reports whether base is the name of an artifact's file.
func isTarball(base string) bool {
	content, ok := strings.CutSuffix(base, suffix)
	_, err := parseDigest(content)
	return ok && err == nil
}

// parseDigest is the inverse of [blob.Digest.String].
func parseDigest(s string) (d blob.Digest, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(d) || s != strings.ToLower(s) {
		return d, fmt.Errorf("%q is no digest", s)
	}
	return blob.Digest(raw), nil
}
