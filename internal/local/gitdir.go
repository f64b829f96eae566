package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// openGit opens the storage of the repository at dir: a work tree, a linked
// one, a submodule or a bare repository. git.PlainOpen would do, but refuses
// partial clones and sparse checkouts, which build machines are full of, for
// the sake of writes; closes a pack after each object; and does not find the
// objects of a clone that borrows them from another.
func openGit(dir string) (*filesystem.Storage, error) {
	at, err := gitDir(dir)
	if err != nil {
		return nil, err
	}
	files := osfs.New(at)
	common, err := follow(filepath.Join(at, "commondir"), "")
	switch {
	case err == nil:
		files = dotgit.NewRepositoryFilesystem(files, osfs.New(common))
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	store := filesystem.NewStorageWithOptions(files, cache.NewObjectLRUDefault(), filesystem.Options{
		KeepDescriptors: true,
		AlternatesFS:    osfs.New("/"),
	})
	if err := readable(store); err != nil {
		_ = store.Close()
		return nil, err
	}
	return store, nil
}

// gitDir returns the directory that Git keeps for the work tree dir, or dir
// itself when that is such a directory.
func gitDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	switch {
	case err == nil && info.IsDir():
		return dot, nil
	case err == nil:
		return follow(dot, "gitdir: ")
	}
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", errors.New("not a git repository")
		}
	}
	return dir, nil
}

// follow returns the directory that a file names, behind a prefix.
func follow(file, prefix string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || to == "" {
		return "", fmt.Errorf("%q does not name a directory", file)
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(file), to)
	}
	return to, nil
}

// readable checks that the repository is not of a kind that would seem to be
// empty or damaged.
func readable(store *filesystem.Storage) error {
	c, err := store.Config()
	if err != nil {
		return fmt.Errorf("reading the configuration of the git repository: %w", err)
	}
	extensions := c.Raw.Section("extensions")
	if f := extensions.Option("objectformat"); f != "" && f != "sha1" {
		return fmt.Errorf("git repositories with %s hashes are not supported", f)
	}
	if f := extensions.Option("refstorage"); f != "" && f != "files" {
		return fmt.Errorf("git repositories that keep refs as %s are not supported", f)
	}
	return nil
}
