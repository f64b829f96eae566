package local

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

func (s *Source) readGit(ctx context.Context, spec string, o Options) error {
	dir, rev, err := splitGit(spec)
	if err != nil {
		return err
	}
	store, err := openGit(dir)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	commit, err := resolve(store, rev)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return fmt.Errorf("revision %q not found%s", rev, known(store))
	}
	if err != nil {
		return fmt.Errorf("revision %q: %w", rev, err)
	}
	root, err := commit.Tree()
	if err != nil {
		return fmt.Errorf("reading commit %s: %w", commit.Hash, err)
	}
	if s.Tree, err = packageFS(ctx, newGitFS(store, root), s.bytes, o); err != nil {
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return fmt.Errorf("%w: the clone is partial or damaged, fetch %s completely", err, rev)
		}
		return err
	}
	s.Revision = rev + "@sha1:" + commit.Hash.String()
	return nil
}

// splitGit splits DIR@REV. Both may hold an @: the longest DIR that is a
// directory counts.
func splitGit(spec string) (dir, rev string, err error) {
	last := strings.LastIndexByte(spec, '@')
	if last <= 0 || last == len(spec)-1 {
		return "", "", errors.New("want git:DIR@REV with a branch, tag or commit as REV, or HEAD")
	}
	for i := last; i > 0; i = strings.LastIndexByte(spec[:i], '@') {
		if info, err := os.Stat(spec[:i]); err == nil && info.IsDir() {
			return spec[:i], spec[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("no such directory: %q", spec[:last])
}

// resolve returns the commit that rev names, in Git's order: a full hash, a
// ref, a shortened hash. It wraps [plumbing.ErrReferenceNotFound] when there
// is none.
func resolve(store *filesystem.Storage, rev string) (*object.Commit, error) {
	if plumbing.IsHash(rev) {
		return peel(store, plumbing.NewHash(rev))
	}
	for _, rule := range plumbing.RefRevParseRules {
		// What is not a ref may still be a file in the repository, so that
		// any error just means: not this one.
		ref, err := storer.ResolveReference(store, plumbing.ReferenceName(fmt.Sprintf(rule, rev)))
		if err == nil {
			return peel(store, ref.Hash())
		}
	}
	return shortened(store, rev)
}

// shortened returns the commit whose hash starts with rev, at least four
// digits of it.
func shortened(store *filesystem.Storage, rev string) (*object.Commit, error) {
	const fewest = 4
	prefix, err := hex.DecodeString(rev[:len(rev)&^1])
	if err != nil || len(rev) < fewest {
		return nil, plumbing.ErrReferenceNotFound
	}
	hashes, err := store.HashesWithPrefix(prefix)
	if err != nil {
		return nil, err
	}
	found := map[plumbing.Hash]*object.Commit{}
	for _, h := range hashes {
		if !strings.HasPrefix(h.String(), strings.ToLower(rev)) {
			continue
		}
		if c, err := object.GetCommit(store, h); err == nil {
			found[h] = c
		}
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%d commits start like this, give more digits", len(found))
	}
	for _, c := range found {
		return c, nil
	}
	return nil, plumbing.ErrReferenceNotFound
}

// peel returns the commit with the hash, or that the tag with the hash means.
func peel(store *filesystem.Storage, hash plumbing.Hash) (*object.Commit, error) {
	if tag, err := object.GetTag(store, hash); err == nil {
		return peel(store, tag.Target)
	}
	commit, err := object.GetCommit(store, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, fmt.Errorf("no commit %s in the repository: %w", hash, plumbing.ErrReferenceNotFound)
	}
	return commit, err
}

// known returns the end of a message: some revisions that do exist, branches
// first.
func known(store *filesystem.Storage) string {
	const enough = 5
	var refs []plumbing.ReferenceName
	if all, err := store.IterReferences(); err == nil {
		// A repository whose refs cannot be listed gets no list.
		_ = all.ForEach(func(ref *plumbing.Reference) error {
			if n := ref.Name(); n.IsBranch() || n.IsTag() {
				refs = append(refs, n)
			}
			return nil
		})
	}
	if len(refs) == 0 {
		return "; the repository has no branches or tags"
	}
	slices.Sort(refs)
	more := ""
	if len(refs) > enough {
		refs, more = refs[:enough], ", …"
	}
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.Short()
	}
	return "; there are " + strings.Join(names, ", ") + more
}
