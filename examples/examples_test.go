// Package examples holds generators that a reader can build, each with its
// sources beside it. The tests hold that they build what is in want.json and
// want/; go test ./examples -update rewrites these.
package examples

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/cli"
)

var update = flag.Bool("update", false, "rewrite want.json and want/ of each example")

// An example builds what it says it does: the report and every file.
func TestGolden(t *testing.T) {
	for _, dir := range examples(t) {
		t.Run(dir, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			args := append(arguments(t, dir), "--output", "json", "--output-dir", out, "--unpacked")
			report := build(t, args...)
			golden, want := filepath.Join(dir, "want.json"), filepath.Join(dir, "want")
			if *update {
				rewrite(t, golden, report, want, out)
			}
			wanted, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(wanted), report); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(files(t, want), files(t, out)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// All examples build in one call, as make run does it.
func TestTogether(t *testing.T) {
	table := build(t, arguments(t, examples(t)...)...)
	for _, name := range []string{"my-app-composite", "podinfo-composite", "frontend", "backend", "acme", "globex", "initech"} {
		if n := strings.Count(table, " "+name+" "); n != 1 {
			t.Errorf("%d lines tell of the artifact %q, want 1:\n%s", n, name, table)
		}
	}
}

// examples returns the directories that hold one.
func examples(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("*/generator.yaml")
	if err != nil || len(found) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

// arguments returns what builds the examples in dirs: the name of each
// directory in sources is the alias that it is bound to.
func arguments(t *testing.T, dirs ...string) []string {
	t.Helper()
	var args []string
	for _, dir := range dirs {
		args = append(args, "--filename", dir)
		sources, err := filepath.Glob(filepath.Join(dir, "sources", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			args = append(args, "--source", filepath.Base(s)+"="+s)
		}
	}
	return args
}

// build runs weir build and returns what it printed.
func build(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := cli.Run(context.Background(), append([]string{"weir", "build"}, args...), cli.Env{
		Getenv: func(string) string { return "" }, In: strings.NewReader(""), Out: &out, Err: &errs,
	})
	if code != 0 || errs.Len() > 0 {
		t.Fatalf("weir build %q: exit code %d\n%s", args, code, &errs)
	}
	return out.String()
}

// files returns the content of every file in dir by its path, which has a star
// behind it when the file is executable.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err1 := os.ReadFile(path)
		info, err2 := d.Info()
		name, err3 := filepath.Rel(dir, path)
		if err := cmp.Or(err1, err2, err3); err != nil {
			return err
		}
		if info.Mode()&0o111 != 0 {
			name += "*"
		}
		got[filepath.ToSlash(name)] = string(data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// rewrite makes what was built what is wanted.
func rewrite(t *testing.T, golden, report, want, out string) {
	t.Helper()
	if err := cmp.Or(
		os.WriteFile(golden, []byte(report), 0o644),
		os.RemoveAll(want),
		os.CopyFS(want, os.DirFS(out)),
	); err != nil {
		t.Fatal(err)
	}
}
