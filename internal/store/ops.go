package store

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

// ops are the operations that change the disk, each a place where a program
// can end. Their errors do not name files, for messages must not change from
// run to run and names of temporary files do.
type ops struct {
	root *os.Root
	// before is called ahead of each operation; when it fails the operation
	// does not happen. It is nil but in tests.
	before func(op, name string) error
}

func (o ops) do(op, name string, fn func() error) error {
	if o.before != nil {
		if err := o.before(op, name); err != nil {
			return err
		}
	}
	return cause(fn())
}

// cause returns the error below the one of package os that names a file.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// mkdirs makes dir and its parents where they are missing, each on disk when
// it returns. A sweep may remove an empty parent meanwhile; then it tries again.
func (o ops) mkdirs(dir string) error {
	err := o.mkdirsOnce(dir)
	for range 3 {
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = o.mkdirsOnce(dir)
	}
	return err
}

func (o ops) mkdirsOnce(dir string) error {
	parent := "."
	for part := range strings.SplitSeq(dir, "/") {
		child := path.Join(parent, part)
		err := o.do("mkdir", child, func() error { return o.root.Mkdir(child, 0o700) })
		if err == nil {
			err = o.syncDir(parent)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		parent = child
	}
	return nil
}

// syncDir makes the names in dir last. File systems that cannot do so for a
// directory do it on their own or not at all.
func (o ops) syncDir(dir string) error {
	err := o.do("syncdir", dir, func() error {
		f, err := o.root.Open(dir)
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

func (o ops) rename(from, to string) error {
	return o.do("rename", to, func() error { return o.root.Rename(from, to) })
}

// remove removes a file or an empty directory. That it is gone is no error.
func (o ops) remove(name string) error {
	err := o.do("remove", name, func() error { return o.root.Remove(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// write makes the file name with what fn writes, on disk when it returns. A
// file that is there is written over. Writing ends with ctx.
func (o ops) write(ctx context.Context, name string, fn func(*sink) error) error {
	s := &sink{ctx: ctx, ops: o, name: name}
	err := o.do("create", name, func() (err error) {
		s.file, err = o.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = fn(s)
	if err == nil {
		err = o.do("sync", name, s.file.Sync)
	}
	if closing := s.file.Close(); err == nil {
		err = cause(closing)
	}
	return err
}

// sink is the file that is being written.
type sink struct {
	ctx  context.Context
	ops  ops
	name string
	file *os.File
}

func (s *sink) Write(data []byte) (n int, err error) {
	if s.ctx.Err() != nil {
		return 0, fmt.Errorf("interrupted: %w", context.Cause(s.ctx))
	}
	err = s.ops.do("write", s.name, func() error {
		n, err = s.file.Write(data)
		return err
	})
	return n, err
}
