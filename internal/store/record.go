package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/durable"
)

// A record is a small file beside each tarball that holds the tarball's digest
// and size as they were when it was packed. With it a restart costs no reading,
// and a damaged tarball is never taken for a good one, as it would be if its
// digest were computed anew. The record is on disk before its tarball has a
// name: whatever ends the program in between, a tarball without a record, or
// with another size, is none.
const recordFormat = "%s %d\n"

// recordOf returns the path of the record of the tarball at file, and
// tarballOf its inverse for names of files, which is empty for other names.
func recordOf(file string) string {
	return path.Join(path.Dir(file), "."+strings.TrimSuffix(path.Base(file), suffix)+".sum")
}

func tarballOf(base string) string {
	content := strings.TrimSuffix(strings.TrimPrefix(base, "."), ".sum")
	if file := content + suffix; isTarball(file) && recordOf(file) == base {
		return file
	}
	return ""
}

func (a Artifact) record() []byte { return fmt.Appendf(nil, recordFormat, a.Digest, a.Size) }

// is reports whether the digest is of that algorithm.
func (a Artifact) is(g digest.Algorithm) bool { return strings.HasPrefix(a.Digest, g.String()+":") }

// recorded returns what the record of the tarball at file says. It wraps
// [fs.ErrNotExist] when there is no whole record.
func (d *Disk) recorded(file string) (Artifact, error) {
	data, err := d.dir.Root.ReadFile(recordOf(file))
	if err != nil {
		return Artifact{}, durable.Cause(err)
	}
	a := Artifact{Path: file}
	_, err = fmt.Sscanf(string(data), recordFormat, &a.Digest, &a.Size)
	if err == nil {
		_, err = digest.Parse(a.Digest)
	}
	if err != nil || string(a.record()) != string(data) {
		return Artifact{}, fmt.Errorf("a torn record: %w", fs.ErrNotExist)
	}
	return a, nil
}

func (d *Disk) writeRecord(ctx context.Context, name string, a Artifact) error {
	return d.dir.Write(ctx, name, func(s *durable.Sink) error {
		_, err := s.Write(a.record())
		return err
	})
}

// restate gives the artifact a record with a digest of the algorithm of d, if
// its file is what the present one says; otherwise it wraps [fs.ErrNotExist].
// Whoever reads meanwhile sees one record or the other.
func (d *Disk) restate(ctx context.Context, a Artifact) (Artifact, error) {
	f, err := d.open(a.Path)
	if err != nil {
		return Artifact{}, err
	}
	defer func() { _ = f.Close() }()
	h := d.digest.New()
	ok, err := f.isWhole(ctx, io.TeeReader(f, h), nil)
	if err != nil {
		return Artifact{}, err
	}
	if !ok {
		return Artifact{}, fmt.Errorf("not what was recorded: %w", fs.ErrNotExist)
	}
	a.Digest = d.digest.Of(h)
	temp := path.Join(path.Dir(a.Path), ".tmp-"+rand.Text())
	err = d.writeRecord(ctx, temp, a)
	if err == nil {
		err = d.dir.Rename(temp, recordOf(a.Path))
	}
	if err != nil {
		return Artifact{}, errors.Join(err, d.dir.Remove(temp))
	}
	return a, d.dir.Sync(path.Dir(a.Path))
}

// Open implements [Store]. It follows no links.
func (d *Disk) Open(file string) (*File, error) {
	if _, err := nameOf(file); err != nil {
		return nil, err
	}
	f, err := d.open(file)
	if err != nil {
		return nil, fmt.Errorf("artifact %q: %w", file, err)
	}
	return f, nil
}

func (d *Disk) open(file string) (*File, error) {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if at, err := d.dir.Root.Lstat(dir); err == nil && !at.IsDir() {
			return nil, fmt.Errorf("%q is no directory: %w", dir, fs.ErrNotExist)
		}
	}
	// Looked at before it is opened, for opening a pipe waits.
	seen, err := d.dir.Root.Lstat(file)
	if err != nil {
		return nil, durable.Cause(err)
	}
	a, err := d.recorded(file)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() || seen.Size() != a.Size {
		return nil, fmt.Errorf("not what was recorded: %w", fs.ErrNotExist)
	}
	f, err := d.dir.Root.Open(file)
	if err != nil {
		return nil, durable.Cause(err)
	}
	return &File{f, a}, nil
}

// isAbsent reports whether err tells that an artifact has to be packed.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
