// Package durable changes files in a directory so that what is done lasts: files
// that are written are on disk, and names are once their directory is synced.
// Each operation is a place where a program can end, which tests can make it do.
package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// Dir is a directory and the operations in it. Their errors do not name files,
// for messages must not change from run to run, and names of temporary files
// do.
type Dir struct {
	Root *os.Root
	// Before is called ahead of each operation; when it fails the operation does
	// not happen. It is nil but in tests.
	Before func(op, name string) error
}

// Do does an operation that has a name.
func (d Dir) Do(op, name string, fn func() error) error {
	if d.Before != nil {
		if err := d.Before(op, name); err != nil {
			return err
		}
	}
	return Cause(fn())
}

// Cause returns the error below the one of package os that names a file.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// Mkdirs makes dir and its parents where they are missing, each on disk when
// it returns. A sweep may remove an empty parent meanwhile; then it tries again.
func (d Dir) Mkdirs(dir string) error {
	err := d.mkdirsOnce(dir)
	for range 3 {
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = d.mkdirsOnce(dir)
	}
	return err
}

func (d Dir) mkdirsOnce(dir string) error {
	parent := "."
	for part := range strings.SplitSeq(dir, "/") {
		child := path.Join(parent, part)
		err := d.Do("mkdir", child, func() error { return d.Root.Mkdir(child, 0o700) })
		if err == nil {
			err = d.Sync(parent)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		parent = child
	}
	return nil
}

// Sync makes the names in dir last. File systems that cannot do so for a
// directory do it on their own or not at all.
func (d Dir) Sync(dir string) error {
	err := d.Do("syncdir", dir, func() error {
		f, err := d.Root.Open(dir)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		return f.Sync()
	})
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// Rename moves a file over another; [Dir.Sync] of the directory makes that last.
func (d Dir) Rename(from, to string) error {
	return d.Do("rename", to, func() error { return d.Root.Rename(from, to) })
}

// Remove removes a file or an empty directory. That it is gone is no error.
func (d Dir) Remove(name string) error {
	err := d.Do("remove", name, func() error { return d.Root.Remove(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Write makes the file name with what fn writes, on disk when it returns. A
// file that is there is written over. Writing ends with ctx.
func (d Dir) Write(ctx context.Context, name string, fn func(*Sink) error) error {
	s := &Sink{ctx: ctx, dir: d, name: name}
	err := d.Do("create", name, func() (err error) {
		s.file, err = d.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = fn(s)
	if err == nil {
		err = d.Do("sync", name, s.file.Sync)
	}
	if closing := s.file.Close(); err == nil {
		err = Cause(closing)
	}
	return err
}

// Sink is the file that is being written.
type Sink struct {
	ctx  context.Context
	dir  Dir
	name string
	file *os.File
}

func (s *Sink) Write(data []byte) (n int, err error) {
	if s.ctx.Err() != nil {
		return 0, fmt.Errorf("interrupted: %w", context.Cause(s.ctx))
	}
	err = s.dir.Do("write", s.name, func() error {
		n, err = s.file.Write(data)
		return err
	})
	return n, err
}
