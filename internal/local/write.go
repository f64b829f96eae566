package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"

	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/tree"
)

// Output is the directory that artifacts are written below. Links cannot lead
// out of it. Concurrent use for different names is safe.
type Output struct {
	root *os.Root

	mu   sync.Mutex
	made map[string]bool // directories below root
}

// NewOutput opens the directory, and makes it if it is missing. The caller
// closes the output.
func NewOutput(dir string) (*Output, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Output{root: root, made: map[string]bool{}}, nil
}

// Close closes the directory. What was written stays.
func (o *Output) Close() error { return o.root.Close() }

// parent makes the directory that name is in, unless it has done so before.
func (o *Output) parent(name string) error {
	dir := path.Dir(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made[dir] {
		return nil
	}
	if err := o.root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	o.made[dir] = true
	return nil
}

// Tarball packs t into the file name, a clean slash-separated path, and makes
// the directories that lead to it. Nobody sees half a file: it gets its name
// when it is complete, and a failure leaves what was there. It is not forced
// to disk, for that would take longer than making it, and it can be made again.
func (o *Output) Tarball(name string, t tree.Tree) (pack.Result, error) {
	r, err := o.tarball(name, t)
	if err != nil {
		return pack.Result{}, fmt.Errorf("writing %q: %w", name, err)
	}
	return r, nil
}

func (o *Output) tarball(name string, t tree.Tree) (pack.Result, error) {
	if err := o.parent(name); err != nil {
		return pack.Result{}, err
	}
	temp := beside(name)
	r, err := writePacked(o.root, temp, t)
	if err == nil {
		err = o.root.Rename(temp, name)
	}
	if err != nil {
		_ = o.root.Remove(temp)
	}
	return r, err
}

// beside returns a new name in the directory of name.
func beside(name string) string { return path.Join(path.Dir(name), ".weir-"+rand.Text()) }

func writePacked(root *os.Root, name string, t tree.Tree) (pack.Result, error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return pack.Result{}, err
	}
	r, err := pack.Write(f, t)
	return r, errors.Join(err, f.Close())
}
