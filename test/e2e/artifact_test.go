package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/testpod"
)

// download replaces the directory by the content of an ExternalArtifact, which
// must be what its status says and nothing but directories and files.
func download(ctx context.Context, c client.Client, of types.NamespacedName, dir string) error {
	o := object("ExternalArtifact", of.Namespace, of.Name)
	if err := c.Get(ctx, of, o); err != nil {
		return err
	}
	data, err := tarballOf(ctx, o)
	if err != nil {
		return err
	}
	if err := unpack(data, dir); err != nil {
		return fmt.Errorf("unpacking the artifact of %q: %w", of, err)
	}
	return nil
}

// errOther is the error of bytes that are not what a status says.
var errOther = errors.New("it is another")

// tarballOf downloads what the status of an ExternalArtifact tells of. The
// error wraps errOther when the server handed something else out.
func tarballOf(ctx context.Context, o *unstructured.Unstructured) ([]byte, error) {
	artifact, ok, err := unstructured.NestedMap(o.Object, "status", "artifact")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("ExternalArtifact %s/%s has no artifact", o.GetNamespace(), o.GetName())
	}
	url, _ := artifact["url"].(string)
	data, err := testpod.Get(ctx, url)
	if err != nil {
		return nil, err
	}
	if digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); digest != artifact["digest"] {
		return nil, fmt.Errorf("%q has digest %q, want %q: %w", url, digest, artifact["digest"], errOther)
	}
	if size, ok := artifact["size"]; ok && size != int64(len(data)) {
		return nil, fmt.Errorf("%q has %d bytes, want %v: %w", url, len(data), size, errOther)
	}
	return data, nil
}

// unpack replaces the directory by the content of a tar.gz.
func unpack(data []byte, dir string) error {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := write(root, h, r); err != nil {
			return err
		}
	}
}

func write(root *os.Root, h *tar.Header, r io.Reader) error {
	mode := h.FileInfo().Mode()
	switch {
	case mode.IsDir():
		return root.MkdirAll(path.Clean(h.Name), 0o755)
	case !mode.IsRegular():
		return fmt.Errorf("%q is no file", h.Name)
	}
	if err := root.MkdirAll(path.Dir(h.Name), 0o755); err != nil {
		return err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return root.WriteFile(h.Name, data, mode.Perm())
}
