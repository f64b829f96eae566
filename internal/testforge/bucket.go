package testforge

import (
	"context"
	"encoding/xml"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
)

// BucketEndpoint returns the address of the S3 store.
func (f *Forge) BucketEndpoint() string { return f.host + ":9000" }

// Sync makes the files in the directory the objects of a bucket, which is made
// when it is missing. Objects of other names are deleted.
func (f *Forge) Sync(ctx context.Context, bucket, dir string) error {
	base := f.url("9000") + "/" + bucket
	old, err := f.objects(ctx, bucket)
	if err != nil {
		return err
	}
	if old == nil {
		if err := f.put(ctx, http.MethodPut, base, nil, ""); err != nil {
			return err
		}
	}
	root := os.DirFS(dir)
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		delete(old, name)
		return f.put(ctx, http.MethodPut, base+"/"+(&url.URL{Path: name}).EscapedPath(), data, "application/octet-stream")
	})
	if err != nil {
		return err
	}
	for name := range old {
		if err := f.put(ctx, http.MethodDelete, base+"/"+(&url.URL{Path: name}).EscapedPath(), nil, ""); err != nil {
			return err
		}
	}
	return nil
}

// objects returns the names of the objects in a bucket, nil if there is no
// bucket. More than a page of a thousand are refused.
func (f *Forge) objects(ctx context.Context, bucket string) (map[string]bool, error) {
	res, err := f.send(ctx, http.MethodGet, f.url("9000")+"/"+bucket, nil, "")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	var list struct {
		IsTruncated bool
		Contents    []struct{ Key string }
	}
	if err := xml.NewDecoder(res.Body).Decode(&list); err != nil {
		return nil, fmt.Errorf("listing bucket %q: %w", bucket, err)
	}
	if list.IsTruncated {
		return nil, fmt.Errorf("listing bucket %q: it has more than a thousand objects", bucket)
	}
	names := map[string]bool{}
	for _, c := range list.Contents {
		names[c.Key] = true
	}
	return names, nil
}
