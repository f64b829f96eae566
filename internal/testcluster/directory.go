package testcluster

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const (
	prefix   = "weir-testcluster-"
	lockName = "lock"
)

// directory holds everything that a cluster writes. A lock, which the kernel
// drops when this process ends, tells directories in use from those that a
// killed or panicking test left behind; each new directory removes the latter.
type directory struct {
	root string
	lock *os.File
}

func newDirectory() (*directory, error) {
	sweep(os.TempDir())
	root, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	d := &directory{root: root}
	if d.lock, err = lock(root); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

// lock returns the locked file of a new directory. It gets its name only when
// it is locked, so that sweep never sees a name without a lock.
func lock(root string) (*os.File, error) {
	file, err := os.CreateTemp(root, lockName)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(root, lockName))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// sweep removes the directories whose process has gone. What it cannot remove
// belongs to another user or to the next sweep.
func sweep(parent string) {
	locks, _ := filepath.Glob(filepath.Join(parent, prefix+"*", lockName))
	for _, name := range locks {
		file, err := os.Open(name)
		if err != nil {
			continue
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(name))
		}
		file.Close()
	}
}

// path returns the path of a file in the directory.
func (d *directory) path(name string) string { return filepath.Join(d.root, name) }

// write creates a file that only this user can read.
func (d *directory) write(name string, data []byte) error {
	return os.WriteFile(d.path(name), data, 0o600)
}

// add appends to a file.
func (d *directory) add(name, text string) error {
	file, err := os.OpenFile(d.path(name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (d *directory) remove() error {
	err := os.RemoveAll(d.root)
	if d.lock != nil {
		d.lock.Close()
	}
	return err
}
