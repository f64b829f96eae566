package testforge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// OCIURL returns the address of a repository in the registry.
func (f *Forge) OCIURL(repo string) string { return "oci://" + f.host + ":5000/" + repo }

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// Push pushes what is in the directory as the tag "latest" of an OCI
// repository, in the way of `flux push artifact`. A directory that holds one
// chart is pushed in the way of `helm push`, with the chart's version as a
// second tag. It returns the manifest's digest.
func (f *Forge) Push(ctx context.Context, repo, dir string) (string, error) {
	layer, err := archive(dir)
	if err != nil {
		return "", err
	}
	configType, layerType := "application/vnd.cncf.flux.config.v1+json", "application/vnd.cncf.flux.content.v1.tar+gzip"
	config, tags := []byte("{}"), []string{"latest"}
	if charts, _ := filepath.Glob(filepath.Join(dir, "*", "Chart.yaml")); len(charts) == 1 {
		configType, layerType = "application/vnd.cncf.helm.config.v1+json", "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
		var version string
		if config, version, err = chart(charts[0]); err != nil {
			return "", err
		}
		tags = append(tags, version)
	}
	manifest := map[string]any{"schemaVersion": 2, "mediaType": manifestType}
	if manifest["config"], err = f.blob(ctx, repo, configType, config); err != nil {
		return "", err
	}
	content, err := f.blob(ctx, repo, layerType, layer)
	if err != nil {
		return "", err
	}
	manifest["layers"] = []any{content}
	data, err := json.Marshal(manifest)
	if err != nil {
		return "", err
	}
	for _, tag := range tags {
		if err := f.put(ctx, http.MethodPut, f.url("5000")+"/v2/"+repo+"/manifests/"+tag, data, manifestType); err != nil {
			return "", err
		}
	}
	return digest(data), nil
}

// blob uploads the bytes and returns their descriptor.
func (f *Forge) blob(ctx context.Context, repo, mediaType string, data []byte) (any, error) {
	url := f.url("5000") + "/v2/" + repo + "/blobs/uploads/?digest=" + digest(data)
	if err := f.put(ctx, http.MethodPost, url, data, "application/octet-stream"); err != nil {
		return nil, err
	}
	return map[string]any{"mediaType": mediaType, "digest": digest(data), "size": len(data)}, nil
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// chart returns a Chart.yaml as JSON, and the version in it.
func chart(file string) (data []byte, version string, err error) {
	data, err = os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	data, err = yaml.YAMLToJSON(data)
	if err != nil {
		return nil, "", fmt.Errorf("%q: %w", file, err)
	}
	var meta struct{ Version string }
	if err := json.Unmarshal(data, &meta); err != nil {
		return nil, "", fmt.Errorf("%q: %w", file, err)
	}
	return data, meta.Version, nil
}
