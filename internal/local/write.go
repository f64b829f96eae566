package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/tree"
)

// WriteTarball packs t into the file name, a clean slash-separated path below
// dir, and makes the directories that lead to it. Nobody sees half a file: the
// bytes are on disk before the file gets its name, and a failure leaves what
// was there. Links cannot lead it out of dir. The directory dir is made if it
// is missing.
func WriteTarball(dir, name string, t tree.Tree) (pack.Result, error) {
	root, err := outRoot(dir, path.Dir(name))
	if err != nil {
		return pack.Result{}, fmt.Errorf("writing %q: %w", name, err)
	}
	defer func() { _ = root.Close() }()
	temp := path.Join(path.Dir(name), ".weir-"+rand.Text())
	r, err := writeSynced(root, temp, t)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return pack.Result{}, fmt.Errorf("writing %q: %w", name, err)
	}
	return r, nil
}

func writeSynced(root *os.Root, name string, t tree.Tree) (pack.Result, error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return pack.Result{}, err
	}
	r, err := pack.Write(f, t)
	return r, errors.Join(err, f.Sync(), f.Close())
}

// WriteTree writes the files of t into the directory name, a clean
// slash-separated path below dir, and makes the directories that lead to it.
// The directory must be empty or missing, so that it holds t and nothing else
// afterwards; the error wraps [fs.ErrExist] when it is not.
func WriteTree(dir, name string, t tree.Tree) error {
	root, err := outRoot(dir, name)
	if err != nil {
		return fmt.Errorf("writing %q: %w", name, err)
	}
	defer func() { _ = root.Close() }()
	if err := writeTree(root, name, t); err != nil {
		return fmt.Errorf("writing %q: %w", name, err)
	}
	return nil
}

func writeTree(root *os.Root, name string, t tree.Tree) error {
	there, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return fmt.Errorf("the directory is not empty, remove it first: %w", fs.ErrExist)
	}
	at, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }()
	return t.Walk(".", func(e tree.Entry) error {
		switch {
		case e.Path == ".":
			return nil
		case e.IsDir():
			return at.Mkdir(e.Path, 0o755)
		default:
			return writeFile(at, e)
		}
	})
}

func writeFile(root *os.Root, e tree.Entry) error {
	f, err := root.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, e.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, e.Blob.Open())
	return errors.Join(err, f.Close())
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
