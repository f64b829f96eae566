package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/weir-dev/weir/internal/tree"
)

// Tree writes the files of t into the directory name, a clean slash-separated
// path, and makes the directories that lead to it. Afterwards the directory
// holds t and nothing else; a failure leaves what was there. A directory that
// is there and not empty is replaced as a whole if replace is set; else the
// error wraps [fs.ErrExist].
func (o *Output) Tree(ctx context.Context, name string, t tree.Tree, replace bool) error {
	if err := o.tree(ctx, name, t, replace); err != nil {
		return fmt.Errorf("writing %q: %w", name, err)
	}
	return nil
}

func (o *Output) tree(ctx context.Context, name string, t tree.Tree, replace bool) error {
	if err := o.parent(name); err != nil {
		return err
	}
	there, err := fs.ReadDir(o.root.FS(), name)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case len(there) > 0 && !replace:
		return fmt.Errorf("the directory is not empty: %w", fs.ErrExist)
	}
	temp := beside(name)
	if err := swap(ctx, o.root, temp, name, t); err != nil {
		return errors.Join(err, o.root.RemoveAll(temp))
	}
	return nil
}

// swap writes t to temp and puts it in the place of name.
func swap(ctx context.Context, root *os.Root, temp, name string, t tree.Tree) error {
	if err := writeTree(ctx, root, temp, t); err != nil {
		return err
	}
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	return root.Rename(temp, name)
}

func writeTree(ctx context.Context, root *os.Root, name string, t tree.Tree) error {
	if err := root.Mkdir(name, 0o755); err != nil {
		return err
	}
	at, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer at.Close()
	return t.Walk(".", func(e tree.Entry) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
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
