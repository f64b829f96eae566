//go:build linux

// Package bench measures the engine on a real monorepo, beside the plain tar
// pipeline that it replaces, in one run of one machine.
//
// The archive is not in the repository. WEIR_BENCH_DATA names it; without, it
// is looked for beside the repository. Without an archive nothing is measured.
// Only Linux tells the peak memory of a child in the way that is read here.
package bench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/local"
	"github.com/weir-dev/weir/internal/recipe"
)

// tenants is how many directories the archive holds, and artifacts it makes.
const tenants = 1459

// generator makes an artifact of each of them.
const generator = `
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: tenants, namespace: flux-system}
spec:
  sources: [{alias: repo, kind: GitRepository, name: monorepo}]
  pathPattern: "@repo/tenants/{tenant}"
  artifacts:
    - name: "{tenant}"
      copy: [{from: "@repo/tenants/{tenant}/**", to: "@artifact/"}]
`

// BenchmarkMonorepo prints a table of medians at its end.
func BenchmarkMonorepo(b *testing.B) {
	data := archive(b)
	peak, weir := binary(b, "./peak"), binary(b, "../../cmd/weir")
	var t table

	// What a user runs, from exec to exit: the archive is read, 1,459 tarballs
	// are written into an empty directory.
	b.Run("process", func(b *testing.B) { t.process = process(b, peak, weir, data) })

	// The same inside a process that runs, without writing: the archive is
	// opened anew each time, every artifact is packed and thrown away.
	b.Run("cold/discard", func(b *testing.B) { t.discard = cold(b, data) })

	// The same, with the tarballs written into an empty directory.
	b.Run("cold/directory", func(b *testing.B) { t.directory = coldDirectory(b, data) })

	// After a commit that changes one file: the new archive is read once, all
	// content digests are computed, and what differs from before is packed.
	b.Run("commit", func(b *testing.B) { t.commit = afterCommit(b, data, commit(b, data)) })

	// Nothing changed, and the tree of the source is at hand: all content
	// digests are computed and compared. Nothing is read and nothing packed.
	// A controller that compares the source's digest first does not even that.
	b.Run("unchanged", func(b *testing.B) { t.unchanged = unchanged(b, data) })

	// The pipeline that a shell script would be.
	b.Run("tar", func(b *testing.B) { t.tar = plain(b, data) })

	t.print(os.Stdout)
}

func cold(b *testing.B, data string) sample {
	var s sample
	r := compile(b)
	for b.Loop() {
		s.time(func() {
			source := open(b, data)
			defer shut(b, source)
			pack(b, artifacts(b, r, source), discard)
		})
	}
	return s.report(b)
}

func coldDirectory(b *testing.B, data string) sample {
	var s sample
	r := compile(b)
	for b.Loop() {
		inFresh(b, func(dir string) {
			s.time(func() {
				source := open(b, data)
				defer shut(b, source)
				out, err := local.NewOutput(dir)
				if err != nil {
					b.Fatal(err)
				}
				pack(b, artifacts(b, r, source), into(out))
				if err := out.Close(); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
	return s.report(b)
}

func afterCommit(b *testing.B, before, after string) sample {
	var s sample
	r := compile(b)
	first := open(b, before)
	defer shut(b, first)
	known := digests(artifacts(b, r, first))
	for b.Loop() {
		s.time(func() {
			source := open(b, after)
			defer shut(b, source)
			changed := differ(known, artifacts(b, r, source))
			if len(changed) != 1 {
				b.Fatalf("%d artifacts differ, want 1", len(changed))
			}
			pack(b, changed, discard)
		})
	}
	return s.report(b)
}

func unchanged(b *testing.B, data string) sample {
	var s sample
	r := compile(b)
	source := open(b, data)
	defer shut(b, source)
	known := digests(artifacts(b, r, source))
	for b.Loop() {
		s.time(func() {
			if changed := differ(known, artifacts(b, r, source)); len(changed) != 0 {
				b.Fatalf("%d artifacts differ, want none", len(changed))
			}
		})
	}
	return s.report(b)
}

// archive returns the name of the benchmark's archive.
func archive(b *testing.B) string {
	b.Helper()
	name := os.Getenv("WEIR_BENCH_DATA")
	if name == "" {
		name = "../../../shared/data/monorepo.tar.gz"
	}
	name, err := filepath.Abs(name)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		b.Skipf("no archive at %s: set WEIR_BENCH_DATA to the monorepo's .tar.gz", name)
	}
	return name
}

func compile(b *testing.B) *recipe.Recipe {
	b.Helper()
	var object v1beta1.ArtifactGenerator
	if err := yaml.UnmarshalStrict([]byte(generator), &object); err != nil {
		b.Fatal(err)
	}
	r, err := recipe.Compile(&object, recipe.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func open(b *testing.B, data string) local.Source {
	b.Helper()
	s, err := local.Open(b.Context(), data, local.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func shut(b *testing.B, s local.Source) {
	b.Helper()
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}

func artifacts(b *testing.B, r *recipe.Recipe, s local.Source) []build.Artifact {
	b.Helper()
	result, err := build.Build(b.Context(), r, map[string]build.Source{"repo": {Tree: s.Tree, Revision: s.Revision}}, build.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := result.Err(); err != nil {
		b.Fatal(err)
	}
	if len(result.Artifacts) != tenants {
		b.Fatalf("%d artifacts, want %d", len(result.Artifacts), tenants)
	}
	return result.Artifacts
}

func digests(artifacts []build.Artifact) map[string]blob.Digest {
	out := make(map[string]blob.Digest, len(artifacts))
	for _, a := range artifacts {
		out[a.Name] = a.Content
	}
	return out
}

// differ returns the artifacts whose content is not what was known.
func differ(known map[string]blob.Digest, artifacts []build.Artifact) []build.Artifact {
	var out []build.Artifact
	for _, a := range artifacts {
		if known[a.Name] != a.Content {
			out = append(out, a)
		}
	}
	return out
}
