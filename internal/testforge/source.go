package testforge

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrKind says that a kind of source is not one that can be pushed to.
var ErrKind = errors.New("no kind that can be pushed to")

// Upload pushes the directory to where a source of the kind gets it from, and
// returns the source's spec but for its interval, and a part of the revision
// that it will have. The name is that of the source with its namespace. A
// directory for a HelmRepository holds one chart.
func (f *Forge) Upload(ctx context.Context, kind, name, dir string) (spec map[string]any, revision string, err error) {
	switch kind {
	case "GitRepository":
		revision, err = f.Commit(ctx, name, dir, "Change "+name)
		spec = map[string]any{"url": f.GitURL(name), "ref": map[string]any{"branch": Branch}}
	case "OCIRepository":
		revision, err = f.Push(ctx, name, dir)
		// The last two are for source-controllers before v1.10, whose CRD filled them in.
		spec = map[string]any{"url": f.OCIURL(name), "ref": map[string]any{"tag": "latest"}, "insecure": true,
			"provider": "generic", "timeout": "60s"}
	case "Bucket":
		bucket := strings.ReplaceAll(name, "/", "-")
		err = f.Sync(ctx, bucket, dir)
		spec = map[string]any{"endpoint": f.BucketEndpoint(), "bucketName": bucket, "insecure": true}
	case "HelmRepository":
		_, err = f.Push(ctx, name+"/chart", dir)
		spec = map[string]any{"type": "oci", "url": f.OCIURL(name), "insecure": true}
	default:
		err = fmt.Errorf("%q is %w", kind, ErrKind)
	}
	return spec, revision, err
}
