package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// A scene is an example with where its sources are pushed.
type scene struct {
	example string
	// sources are where source-controller gets each directory of the example's
	// sources from: its kind and name, with the namespace.
	sources map[string][2]string
}

var scenes = []scene{
	{"compose", map[string][2]string{
		"backend":  {"GitRepository", "apps/my-backend"},
		"frontend": {"OCIRepository", "apps/my-frontend"},
		"config":   {"Bucket", "apps/my-configs"},
	}},
	{"decompose", map[string][2]string{"monorepo": {"GitRepository", "apps/my-monorepo"}}},
	{"helm", map[string][2]string{
		"chart":  {"OCIRepository", "apps/podinfo-chart"},
		"values": {"GitRepository", "apps/podinfo-values"},
	}},
	{"tenants", map[string][2]string{"fleet": {"GitRepository", "flux-system/fleet"}}},
}

// consumers is who applies what the generators make.
//
//go:embed consumers.yaml
var consumers string

// interval is how often source-controller looks for pushes.
const interval = "3s"

// setScenes pushes the sources of all examples, and applies the sources, the
// generators and their consumers.
func (w *world) setScenes(ctx context.Context) error {
	if _, err := w.cluster.Kubectl(ctx, strings.NewReader(consumers), "apply", "-f", "-"); err != nil {
		return err
	}
	for _, s := range scenes {
		for dir, source := range s.sources {
			if err := w.push(ctx, source[0], source[1], w.path("examples", s.example, "sources", dir)); err != nil {
				return err
			}
		}
		files := []string{"apply", "-f", w.path("examples", s.example, "generator.yaml")}
		if rights := w.path("examples", s.example, "rbac.yaml"); exists(rights) {
			files = append(files, "-f", rights)
		}
		if _, err := w.cluster.Kubectl(ctx, nil, files...); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// push pushes a directory and applies the source that it is for.
func (w *world) push(ctx context.Context, kind, name, dir string) error {
	spec, _, err := w.forge.Upload(ctx, kind, name, dir)
	if err != nil {
		return fmt.Errorf("pushing %q: %w", dir, err)
	}
	spec["interval"] = interval
	namespace, short, _ := strings.Cut(name, "/")
	source, err := json.Marshal(map[string]any{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": short}, "spec": spec,
	})
	if err != nil {
		return err
	}
	_, err = w.cluster.Kubectl(ctx, strings.NewReader(string(source)), "apply", "-f", "-")
	return err
}
