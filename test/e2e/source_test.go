package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1" //nolint:gosec // it imitates Git
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	sourceAPI      = "source.toolkit.fluxcd.io/v1"
	originRevision = "org.opencontainers.image.revision"
)

// publication is an artifact of a source.
type publication struct {
	kind, namespace, name string
	dir                   string // what is in it
	revision              string // empty: made from the content
	origin                string // empty: none
}

// publish makes the source when it is missing, and the directory its artifact.
func (s *sources) publish(ctx context.Context, c client.Client, p publication) error {
	tarball, sum, err := archive(p.dir)
	if err != nil {
		return err
	}
	if p.revision == "" {
		p.revision = "main@sha1:" + sum
	}
	artifact := s.serve(p, tarball)
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
	if err := c.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	source, err := p.source()
	if err != nil {
		return err
	}
	if err := c.Create(ctx, source); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return err
		}
		source.Object["status"] = map[string]any{
			"observedGeneration": source.GetGeneration(),
			"artifact":           artifact,
			"conditions": []any{map[string]any{
				"type": "Ready", "status": "True", "reason": "Succeeded",
				"message":            fmt.Sprintf("stored artifact for revision '%s'", p.revision),
				"observedGeneration": source.GetGeneration(),
				"lastTransitionTime": now(),
			}},
		}
		if p.kind == "ExternalArtifact" { // it has no generation observed
			delete(source.Object["status"].(map[string]any), "observedGeneration")
		}
		return c.Status().Update(ctx, source)
	})
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// source returns the object with the least that its kind may say.
func (p publication) source() (*unstructured.Unstructured, error) {
	specs := map[string]map[string]any{
		"GitRepository":    {"interval": "1h", "url": "https://example.com/" + p.name},
		"OCIRepository":    {"interval": "1h", "url": "oci://example.com/" + p.name},
		"Bucket":           {"interval": "1h", "endpoint": "example.com", "bucketName": p.name},
		"ExternalArtifact": {},
		"HelmChart": {"interval": "1h", "chart": p.name,
			"sourceRef": map[string]any{"kind": "HelmRepository", "name": p.name}},
	}
	spec, ok := specs[p.kind]
	if !ok {
		return nil, fmt.Errorf("%q is no kind of source", p.kind)
	}
	source := object(p.kind, p.namespace, p.name)
	source.Object["spec"] = spec
	return source, nil
}

func object(kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(sourceAPI)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func key(arg string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(arg, "/")
	if !ok || namespace == "" || name == "" {
		return types.NamespacedName{}, fmt.Errorf("%q is not NS/NAME", arg)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// archive returns a tar.gz of the directory and a hash of what is in it, both
// the same for the same content. Links stay links.
func archive(dir string) (tarball []byte, sum string, err error) {
	var out bytes.Buffer
	hash := sha1.New() //nolint:gosec // it imitates Git
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(io.MultiWriter(zip, hash))
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		return add(w, dir, name, d)
	})
	if err != nil {
		return nil, "", err
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	if err := zip.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), hex.EncodeToString(hash.Sum(nil)), nil
}

func add(w *tar.Writer, dir, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		return err
	}
	header := &tar.Header{Name: rel, Mode: int64(info.Mode().Perm())}
	switch info.Mode().Type() {
	case fs.ModeDir:
		header.Typeflag = tar.TypeDir
		header.Name += "/"
	case fs.ModeSymlink:
		header.Typeflag = tar.TypeSymlink
		if header.Linkname, err = os.Readlink(name); err != nil {
			return err
		}
	case 0:
		header.Typeflag = tar.TypeReg
		header.Size = info.Size()
	default:
		return fmt.Errorf("%q is neither file, directory nor link", rel)
	}
	if err := w.WriteHeader(header); err != nil || header.Typeflag != tar.TypeReg {
		return err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
