//go:build linux

package bench

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/local"
	tarball "github.com/weir-dev/weir/internal/pack"
)

// pack packs the artifacts, one a processor at once.
func pack(b *testing.B, artifacts []build.Artifact, write func(build.Artifact) error) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, a := range artifacts {
		group.Go(func() error { return write(a) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// discard packs an artifact and throws it away.
func discard(a build.Artifact) error {
	_, err := tarball.Write(io.Discard, a.Tree)
	return err
}

// into returns a function that packs an artifact into a file of the output, as
// weir build --output-dir does.
func into(out *local.Output) func(build.Artifact) error {
	return func(a build.Artifact) error {
		_, err := out.Tarball(a.Namespace+"/"+a.Name+".tar.gz", a.Tree)
		return err
	}
}

// inFresh calls f with an empty directory, outside of whose call the clock of
// the benchmark stands.
func inFresh(b *testing.B, f func(dir string)) {
	b.Helper()
	b.StopTimer()
	dir, err := os.MkdirTemp("", "weir-bench-*")
	if err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
	f(dir)
	b.StopTimer()
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}

// commit writes the archive again with one more line in one file, and returns
// the new archive's name.
func commit(b *testing.B, data string) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), "changed.tar.gz")
	in, err := os.Open(data)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(edit(out, in), out.Close()); err != nil {
		b.Fatal(err)
	}
	return name
}

func edit(out io.Writer, in io.Reader) error {
	const edited, line = "tenants/tenant-0001/00-namespace.yaml", "# one line more\n"
	unzip, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(out)
	from, to := tar.NewReader(unzip), tar.NewWriter(zip)
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return errors.Join(to.Close(), zip.Close())
		}
		if err != nil {
			return err
		}
		more := ""
		if h.Name == edited {
			more = line
		}
		h.Size += int64(len(more))
		if err := to.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(to, from); err != nil {
			return err
		}
		if _, err := io.WriteString(to, more); err != nil {
			return err
		}
	}
}
