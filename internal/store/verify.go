package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/durable"
	"github.com/weir-dev/weir/internal/fail"
)

// Check says how a store is verified.
type Check struct {
	// Referenced are the paths that have to be there.
	Referenced []string
	// BytesPerSecond is how fast files are read at most, so that downloads
	// and builds do not wait for the disk; zero means 64 MiB.
	BytesPerSecond int64
}

// Verified is what a verification found.
type Verified struct {
	// Files and Bytes were read.
	Files int
	Bytes int64
	// Corrupt are the paths of files that are not what their records say or
	// cannot be read.
	// They are removed, so that a Put packs them again. Sorted.
	Corrupt []string
	// Missing are the referenced paths at which there is no artifact, or no
	// longer one. Sorted.
	Missing []string
}

// Verify reads every artifact at the pace of c and removes those whose bytes
// are not the recorded ones. It waits for nothing and nothing waits for it:
// artifacts are put, served and swept meanwhile. Files that cannot be opened are
// left and told in the error. When ctx ends it returns what it has found so far,
// without Missing.
func (d *Disk) Verify(ctx context.Context, c Check) (Verified, error) {
	var out Verified
	p := &pace{rate: cmp.Or(c.BytesPerSecond, 64<<20)}
	names, err := d.names()
	errs := []error{err}
	for _, name := range names {
		files, _, err := d.files(dirOf(name))
		errs = append(errs, err)
		for _, f := range files {
			if !isTarball(path.Base(f.path)) {
				continue
			}
			ok, err := d.verify(ctx, f.path, p)
			if ctx.Err() != nil {
				return out, fmt.Errorf("verifying the store: %w", context.Cause(ctx))
			}
			out.Files++
			if !ok {
				out.Corrupt = append(out.Corrupt, f.path)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("verifying %q: %w", f.path, err))
			}
		}
	}
	out.Bytes = p.total
	for _, file := range c.Referenced {
		if _, err := Stat(d, file); isAbsent(err) {
			out.Missing = append(out.Missing, file)
		}
	}
	slices.Sort(out.Corrupt)
	slices.Sort(out.Missing)
	return out, fail.Join(errs...)
}

// Examine verifies the one artifact at path, at once, and removes it if it is
// damaged. It reports whether it is what was recorded, or gone.
func (d *Disk) Examine(ctx context.Context, path string) (ok bool, err error) {
	if _, err := nameOf(path); err != nil {
		return false, err
	}
	return d.verify(ctx, path, nil)
}

// verify reports whether the tarball at file is what was recorded, and removes
// it if not. It is so too when it is gone by now, or when nobody can tell.
func (d *Disk) verify(ctx context.Context, file string, p *pace) (bool, error) {
	seen, err := d.dir.Root.Lstat(file)
	if err != nil {
		return true, ignoreAbsent(durable.Cause(err))
	}
	if !seen.Mode().IsRegular() {
		return d.discardIf(ctx, file, seen)
	}
	f, err := d.dir.Root.Open(file)
	if err != nil {
		return true, ignoreAbsent(durable.Cause(err))
	}
	// Open until the end: its number cannot go to another file meanwhile.
	defer func() { _ = f.Close() }()
	if seen, err = f.Stat(); err != nil {
		return true, durable.Cause(err)
	}
	a, err := d.recorded(file)
	if err != nil && !isAbsent(err) {
		return true, err
	}
	if err == nil {
		ok, err := a.isWhole(ctx, f, p)
		if ctx.Err() != nil || err == nil && ok {
			return true, nil
		}
	}
	return d.discardIf(ctx, file, seen)
}

// discardIf removes the tarball at file if it is still the one that was seen:
// it may have been swept and packed again meanwhile.
func (d *Disk) discardIf(ctx context.Context, file string, seen fs.FileInfo) (ok bool, err error) {
	name, err := nameOf(file)
	if err != nil {
		return true, err
	}
	unlock, err := d.locks.take(ctx, name)
	if err != nil {
		return true, err
	}
	defer unlock()
	if at, err := d.dir.Root.Lstat(file); err != nil || !os.SameFile(at, seen) {
		return true, ignoreAbsent(durable.Cause(err))
	}
	return false, d.discard(file)
}

// isWhole reads f to its end, at the pace p unless that is nil, and reports
// whether it is what a says.
func (a Artifact) isWhole(ctx context.Context, f io.Reader, p *pace) (bool, error) {
	want, err := digest.Parse(a.Digest)
	if err != nil {
		return false, err
	}
	if err := p.wait(ctx, opening); err != nil {
		return false, err
	}
	h := want.New()
	chunk := make([]byte, 128<<10)
	for {
		n, err := f.Read(chunk)
		h.Write(chunk[:n])
		p.count(n)
		if err := p.wait(ctx, n); err != nil {
			return false, err
		}
		if errors.Is(err, io.EOF) {
			return want.Is(h), nil
		}
		if err != nil {
			return false, err
		}
	}
}

// opening is what opening a file costs in bytes that could be read instead.
const opening = 64 << 10

// pace slows a reader down to a rate in bytes per second. Nil does not.
type pace struct {
	rate int64
	// total is the number of bytes read, due when that many are allowed.
	total int64
	due   time.Time
}

func (p *pace) count(n int) {
	if p != nil {
		p.total += int64(n)
	}
}

// wait returns when n more bytes may have been read, or ctx has ended.
func (p *pace) wait(ctx context.Context, n int) error {
	if p == nil {
		return context.Cause(ctx)
	}
	now := time.Now()
	if p.due.Before(now) {
		p.due = now
	}
	p.due = p.due.Add(time.Duration(n) * time.Second / time.Duration(p.rate))
	timer := time.NewTimer(p.due.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
