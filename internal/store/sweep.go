package store

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/internal/fail"
)

// Policy says what a sweep leaves. Its zero value, but for Now, leaves only what
// is held.
type Policy struct {
	// Now is the time of the sweep.
	Now time.Time
	// Referenced are the paths that inventories or ExternalArtifacts point to.
	// They stay, whatever their age and number.
	Referenced map[string]bool
	// TTL and Records keep what is not referenced any more for consumers that
	// have just read its URL: of each name at most Records files, the newest,
	// and each until TTL after a newer one was put.
	TTL     time.Duration
	Records int
	// Safe is the age from which on what nobody finished is taken for what a
	// crash or a failed pass left; zero means an hour. It has to exceed the
	// longest pass.
	Safe time.Duration
}

// Swept is what a sweep removed and what it left.
type Swept struct {
	// Removed are paths of files, those of a name together.
	Removed []string
	// Bytes is the size of them.
	Bytes int64
	// Kept is the number of artifacts that stay, KeptBytes their size.
	Kept      int
	KeptBytes int64
}

// Sweep removes what p does not keep, temporary files of crashes, and
// directories in which nothing is left. An artifact that was put stays until a
// sweep has seen it referenced, a later one was put for the name, or Safe has
// passed. Sweep goes on after a failure and returns all of them. It waits for a
// Put of the same name and may run while anything else does.
func (d *Disk) Sweep(ctx context.Context, p Policy) (Swept, error) {
	p.Safe = cmp.Or(p.Safe, time.Hour)
	var out Swept
	names, err := d.names()
	errs := []error{err}
	for _, name := range names {
		if err := d.sweepName(ctx, name, p, &out); err != nil {
			errs = append(errs, fmt.Errorf("sweeping artifact %q: %w", name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return out, fail.Join(errs...)
}

func (d *Disk) sweepName(ctx context.Context, name types.NamespacedName, p Policy, out *Swept) error {
	unlock, err := d.locks.take(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	dir := dirOf(name)
	files, others, err := d.files(dir)
	if err != nil {
		return err
	}
	held := d.holds(name)
	if p.Referenced[held] {
		d.release(name)
	}
	remove := garbage(files, p, held)
	for _, f := range stay(files, remove) {
		out.Kept++
		out.KeptBytes += f.size
	}
	for _, f := range remove {
		if err := d.dir.Remove(f.path); err != nil {
			return err
		}
		out.Removed = append(out.Removed, f.path)
		out.Bytes += f.size
	}
	if others || len(remove) < len(files) {
		return nil
	}
	d.release(name)
	if err := d.dir.Remove(dir); err != nil {
		return err
	}
	// A namespace with other artifacts is not empty and stays.
	_ = d.dir.Remove(path.Dir(dir))
	return nil
}

// file is one file in the directory of a name.
type file struct {
	path     string
	size     int64
	modified time.Time
}

// files returns the files in dir and whether there are directories too, which
// nobody made who ought to.
func (d *Disk) files(dir string) (files []file, others bool, err error) {
	entries, err := d.list(dir)
	for _, e := range entries {
		if e.IsDir() {
			others = true
			continue
		}
		info, ierr := e.Info()
		if ierr != nil {
			err = fail.Join(err, ignoreAbsent(ierr))
			continue
		}
		files = append(files, file{path.Join(dir, e.Name()), info.Size(), info.ModTime()})
	}
	return files, others, err
}

func ignoreAbsent(err error) error {
	if isAbsent(err) {
		return nil
	}
	return err
}

// stay returns the tarballs that are not to be removed.
func stay(files, remove []file) []file {
	gone := make(map[string]bool, len(remove))
	for _, f := range remove {
		gone[f.path] = true
	}
	var out []file
	for _, f := range files {
		if isTarball(path.Base(f.path)) && !gone[f.path] {
			out = append(out, f)
		}
	}
	return out
}

// garbage returns those of the files of one name that p does not keep, the
// tarballs first: a tarball never outlives its record. The one at held was put
// and not yet seen referenced.
func garbage(files []file, p Policy, held string) []file {
	young := func(f file) bool { return p.Now.Sub(f.modified) < p.Safe }
	var tarballs, out []file
	stays := map[string]bool{}
	for _, f := range files {
		if isTarball(path.Base(f.path)) {
			tarballs = append(tarballs, f)
		}
	}
	slices.SortFunc(tarballs, func(a, b file) int {
		return cmp.Or(b.modified.Compare(a.modified), cmp.Compare(a.path, b.path))
	})
	records := 0
	for i, f := range tarballs {
		// How long it has not been the newest. The newest itself, if nobody
		// refers to it, has been useless since it was put.
		since := tarballs[max(i-1, 0)].modified
		switch {
		case p.Referenced[f.path], f.path == held && young(f):
			stays[f.path] = true
		case records < p.Records && p.Now.Sub(since) < p.TTL:
			records++
			stays[f.path] = true
		default:
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	gone := map[string]bool{}
	for _, f := range out {
		gone[recordOf(f.path)] = true
	}
	for _, f := range files {
		base := path.Base(f.path)
		switch {
		case isTarball(base), stays[path.Join(path.Dir(f.path), tarballOf(base))], p.Referenced[f.path]:
		case gone[f.path], !young(f):
			out = append(out, f)
		}
	}
	return out
}
