package testforge_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/testflux"
	"github.com/weir-dev/weir/internal/testforge"
	"github.com/weir-dev/weir/internal/testpod"
)

func start(t *testing.T) *testforge.Forge {
	t.Helper()
	program, err := testflux.Program("../..", "servers")
	if errors.Is(err, testflux.ErrNotBuilt) && os.Getenv("WEIR_REQUIRE_CONTROLPLANE") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	forge, err := testforge.Start(t.Context(), program, testpod.Address(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := forge.Stop(); err != nil {
			t.Error(err)
		}
	})
	return forge
}

// tree writes files, as name and content in turn, to a new directory.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		file := filepath.Join(dir, files[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(files[i+1]), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCommitReplacesAll(t *testing.T) {
	t.Parallel()
	forge := start(t)
	for _, dir := range []string{
		tree(t, "a.yaml", "1", "sub/b.yaml", "1", ".gitignore", "*.log", "x.log", "kept"),
		tree(t, "a.yaml", "2"),
		tree(t, "a.yaml", "2"), // nothing changes, and there is a commit
	} {
		hash, err := forge.Commit(t.Context(), "team/repo", dir, "change")
		if err != nil {
			t.Fatal(err)
		}
		clone := t.TempDir()
		out, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "--branch="+testforge.Branch, forge.GitURL("team/repo"), clone).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		head, err := exec.CommandContext(t.Context(), "git", "-C", clone, "rev-parse", "HEAD").Output()
		if err != nil || strings.TrimSpace(string(head)) != hash {
			t.Errorf("the branch is at %s, %v; want %s", head, err, hash)
		}
		if diff := cmp.Diff(files(t, dir), files(t, clone)); diff != "" {
			t.Errorf("what was pushed and what is there (-want +got):\n%s", diff)
		}
	}
}

// files returns the content of all files of a directory, but git's own.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		data, err := fs.ReadFile(root, name)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPush(t *testing.T) {
	t.Parallel()
	forge := start(t)
	for name, c := range map[string]struct {
		dir, layer string
		tags       []string
	}{
		"files":   {tree(t, "a.yaml", "1"), "application/vnd.cncf.flux.content.v1.tar+gzip", []string{"latest"}},
		"a chart": {tree(t, "web/Chart.yaml", "{name: web, version: 1.2.3}"), "application/vnd.cncf.helm.chart.content.v1.tar+gzip", []string{"latest", "1.2.3"}},
	} {
		repo := "team/" + strings.ReplaceAll(name, " ", "-")
		digest, err := forge.Push(t.Context(), repo, c.dir)
		if err != nil {
			t.Fatal(err)
		}
		host, _, _ := strings.Cut(strings.TrimPrefix(forge.OCIURL(repo), "oci://"), "/")
		for _, tag := range append(c.tags, digest) {
			var manifest struct {
				Layers []struct{ MediaType, Digest string }
			}
			if err := json.Unmarshal(get(t, "http://"+host+"/v2/"+repo+"/manifests/"+tag), &manifest); err != nil {
				t.Fatal(err)
			}
			if len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != c.layer {
				t.Fatalf("%s: layers are %+v, want one of %q", name, manifest.Layers, c.layer)
			}
			get(t, "http://"+host+"/v2/"+repo+"/blobs/"+manifest.Layers[0].Digest)
		}
	}
}

func TestSyncReplacesAll(t *testing.T) {
	t.Parallel()
	forge := start(t)
	for _, want := range [][]string{{"a b.yaml", "sub/c.yaml"}, {"sub/c.yaml", "sub/d.yaml"}} {
		dir := tree(t, want[0], "1", want[1], "2")
		if err := forge.Sync(t.Context(), "bucket", dir); err != nil {
			t.Fatal(err)
		}
		list := string(get(t, "http://"+forge.BucketEndpoint()+"/bucket"))
		var got []string
		for _, part := range strings.Split(list, "<Key>")[1:] {
			name, _, _ := strings.Cut(part, "<")
			got = append(got, name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the bucket has %q, want %q", got, want)
		}
	}
}

func TestUploadKnowsItsKinds(t *testing.T) {
	t.Parallel()
	var forge testforge.Forge
	if _, _, err := forge.Upload(context.Background(), "Gitrepository", "a/b", "."); !errors.Is(err, testforge.ErrKind) {
		t.Errorf("Upload says %v, want that it is no kind", err)
	}
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	data, err := testpod.Get(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
