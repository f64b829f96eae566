package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/tree"
)

// WriteTarball packs t into the file name, a clean slash-separated path below
// dir, and makes the directories that lead to it. Nobody sees half a file: it
// gets its name when it is complete, and a failure leaves what was there. It
// is not forced to disk, for that would take longer than making it, and it can
// be made again. Links cannot lead it out of dir. The directory dir is made if
// it is missing.
func WriteTarball(dir, name string, t tree.Tree) (pack.Result, error) {
	root, err := outRoot(dir, path.Dir(name))
	if err != nil {
		return pack.Result{}, fmt.Errorf("writing %q: %w", name, err)
	}
	defer func() { _ = root.Close() }()
	temp := beside(name)
	r, err := writePacked(root, temp, t)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return pack.Result{}, fmt.Errorf("writing %q: %w", name, err)
	}
	return r, nil
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

// outRoot opens dir and makes it and the directory sub below it.
func outRoot(dir, sub string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := root.MkdirAll(sub, 0o755); err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}
