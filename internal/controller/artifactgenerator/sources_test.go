package artifactgenerator_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// source publishes files as the artifact of the GitRepository mono.
func (w *world) source(revision string, files map[string]string) {
	w.t.Helper()
	w.publish(v1beta1.SourceGitRepository, "mono", revision, "", files)
}

// publish publishes files as the artifact of a source, which is made when it is
// missing. An empty origin means none.
func (w *world) publish(kind v1beta1.SourceKind, name, revision, origin string, files map[string]string) {
	w.t.Helper()
	data := tarball(w.t, files)
	path := fmt.Sprintf("/%x.tar.gz", sha256.Sum256(data))
	w.mu.Lock()
	w.balls[path] = data
	w.mu.Unlock()
	a := &meta.Artifact{
		Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data)), Path: path, URL: w.sources.URL + path, Revision: revision, LastUpdateTime: metav1.Now(),
	}
	if origin != "" {
		a.Metadata = map[string]string{v1beta1.OriginRevisionKey: origin}
	}
	w.point(kind, name, a)
}

// point makes a source have an artifact, or none.
func (w *world) point(kind v1beta1.SourceKind, name string, a *meta.Artifact) {
	w.t.Helper()
	o, status := newSource(kind)
	o.SetNamespace(w.namespace)
	o.SetName(name)
	if err := client.IgnoreAlreadyExists(w.client.Create(w.t.Context(), o)); err != nil {
		w.t.Fatal(err)
	}
	w.get(o)
	*status = a
	if err := w.client.Status().Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// newSource returns an object that the API server takes, and where its artifact
// is.
func newSource(kind v1beta1.SourceKind) (client.Object, **meta.Artifact) {
	every := metav1.Duration{Duration: time.Hour}
	switch kind {
	case v1beta1.SourceOCIRepository:
		o := &sourcev1.OCIRepository{Spec: sourcev1.OCIRepositorySpec{URL: "oci://example.com/x", Interval: &every}}
		return o, &o.Status.Artifact
	case v1beta1.SourceBucket:
		o := &sourcev1.Bucket{Spec: sourcev1.BucketSpec{BucketName: "x", Endpoint: "example.com", Interval: every}}
		return o, &o.Status.Artifact
	case v1beta1.SourceHelmChart:
		o := &sourcev1.HelmChart{Spec: sourcev1.HelmChartSpec{Chart: "x", Interval: every}}
		o.Spec.SourceRef.Kind, o.Spec.SourceRef.Name = "HelmRepository", "x"
		return o, &o.Status.Artifact
	case v1beta1.SourceExternalArtifact:
		o := &sourcev1.ExternalArtifact{}
		return o, &o.Status.Artifact
	default:
		o := &sourcev1.GitRepository{Spec: sourcev1.GitRepositorySpec{URL: "https://example.com/x", Interval: every}}
		return o, &o.Status.Artifact
	}
}

func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw := tar.NewWriter(zw)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}
		if err := errors.Join(tw.WriteHeader(h), func() error { _, err := tw.Write([]byte(files[name])); return err }()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
