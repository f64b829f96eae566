// Package local is the disk of whoever runs a command: it opens the sources
// that a command line names, and writes the artifacts that a build made. It
// starts no other program and never uses the network.
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-dev/weir/internal/archive"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/tree"
)

// Options change how a source is opened. The zero value works.
type Options struct {
	// NoSourceIgnore takes directories and commits as they are. Otherwise
	// they are packaged as source-controller would: without what its default
	// list and their .sourceignore files name.
	NoSourceIgnore bool
	// MaxBytes is how many bytes the files of the source may have together,
	// at most; zero means [archive.DefaultMaxBytes].
	MaxBytes int64
	// TempDir is where the bytes of the source are kept until Close; empty
	// means the system's directory for temporary files.
	TempDir string
}

// Source is what a spec named.
type Source struct {
	// Tree holds the files, without symbolic links and submodules.
	Tree tree.Tree
	// Revision is as Flux would write it: "REV@sha1:COMMIT" for a commit,
	// else "latest@sha256:" with the digest of the content.
	Revision string

	bytes *blob.Pack
}

// Close frees the disk space. The files cannot be read afterwards.
func (s Source) Close() error {
	if s.bytes == nil {
		return nil
	}
	return s.bytes.Close()
}

// Open reads the source that spec names: a directory, a file whose name ends
// in .tar.gz or .tgz, or git:DIR@REV, a commit in the repository at DIR, which
// may be a work tree or bare. REV is a branch, a tag, a commit's hash, full or
// shortened, or HEAD. What the work tree holds does not matter for a commit.
// The source does not follow what happens on disk afterwards. Errors name the
// spec. The caller closes the source.
func Open(ctx context.Context, spec string, o Options) (Source, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = archive.DefaultMaxBytes
	}
	bytes, err := blob.NewPack(o.TempDir)
	if err != nil {
		return Source{}, err
	}
	s := Source{bytes: bytes}
	if err := s.read(ctx, spec, o); err != nil {
		_ = s.Close()
		return Source{}, fmt.Errorf("source %q: %w", spec, err)
	}
	return s, nil
}

func (s *Source) read(ctx context.Context, spec string, o Options) error {
	if rest, ok := strings.CutPrefix(spec, "git:"); ok {
		return s.readGit(ctx, rest, o)
	}
	info, err := os.Stat(spec)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("no such file or directory")
	}
	if err != nil {
		return err
	}
	switch {
	case info.IsDir():
		err = s.readDir(ctx, spec, o)
	case info.Mode().IsRegular() && isTarball(spec):
		err = s.readTarball(ctx, spec, o)
	default:
		err = errors.New("neither a directory nor a .tar.gz or .tgz file")
	}
	if err != nil {
		return err
	}
	s.Revision = pack.Revision(pack.Digest(s.Tree))
	return nil
}

func isTarball(name string) bool {
	name = strings.ToLower(filepath.Base(name))
	return strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}

func (s *Source) readDir(ctx context.Context, dir string, o Options) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	s.Tree, err = packageFS(ctx, root.FS(), s.bytes, o)
	return err
}

func (s *Source) readTarball(ctx context.Context, name string, o Options) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	s.Tree, err = archive.Read(reader{ctx, f}, s.bytes, archive.Options{MaxBytes: o.MaxBytes})
	return err
}
