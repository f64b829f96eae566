package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/digest"
	"github.com/weir-dev/weir/internal/durable"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/tree"
)

// Disk is a [Store] in a directory. One program uses the directory at a time;
// a second one, as while a Deployment rolls, may cost work but no artifact.
type Disk struct {
	dir    durable.Dir
	locks  locks
	digest digest.Algorithm
	// packing holds a value for each tarball that is being compressed.
	packing chan struct{}

	mu sync.Mutex
	// held is the path that was put last for a name, until a sweep sees it
	// referenced: a pass may take longer than any retention between making an
	// artifact and publishing it.
	held map[types.NamespacedName]string
}

var _ Store = (*Disk)(nil)

// Options say how a [Disk] works. The zero value works.
type Options struct {
	// Digest is the algorithm of [Artifact.Digest]; zero means SHA-256. An
	// artifact that was packed under another one gets its new digest when it is
	// put again, which reads its file once; until then it keeps the old one.
	Digest digest.Algorithm
}

// OpenDisk returns the store in dir, which is made if it is missing. It reads
// nothing: a damaged store opens, and [Disk.Verify] tells. The caller closes it.
func OpenDisk(dir string, o Options) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	return &Disk{
		dir:     durable.Dir{Root: root},
		digest:  o.Digest,
		packing: make(chan struct{}, runtime.GOMAXPROCS(0)),
		held:    map[types.NamespacedName]string{},
	}, nil
}

// Close ends the use of the directory. Files that are open stay so.
func (d *Disk) Close() error { return d.dir.Root.Close() }

// Put implements [Store]. As many tarballs are compressed at a time as there
// are processors, and waiting for the disk keeps none of them: callers gain
// from putting more at a time than that.
func (d *Disk) Put(ctx context.Context, name types.NamespacedName, t tree.Tree, content blob.Digest) (Artifact, error) {
	if err := checkName(name); err != nil {
		return Artifact{}, err
	}
	file := Path(name, content)
	a, err := d.put(ctx, name, file, t)
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return Artifact{}, fmt.Errorf("storing artifact %q: %w", name, err)
	default:
		return Artifact{}, fail.Retried(v1beta1.ReasonReconciliationFailed, "storing artifact %q: %w", name, err)
	}
}

func (d *Disk) put(ctx context.Context, name types.NamespacedName, file string, t tree.Tree) (Artifact, error) {
	unlock, err := d.locks.take(ctx, name)
	if err != nil {
		return Artifact{}, err
	}
	defer unlock()
	a, err := Stat(d, file)
	if err == nil && !a.is(d.digest) {
		a, err = d.restate(ctx, a)
	}
	switch {
	case err == nil:
		// It is the newest again, though packed long ago. Were this to fail,
		// it would still be held.
		now := time.Now()
		_ = d.dir.Do("touch", file, func() error { return d.dir.Root.Chtimes(file, now, now) })
	case isAbsent(err):
		a, err = d.pack(ctx, file, t)
	}
	if err != nil {
		return Artifact{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[name] = file
	return a, nil
}

// pack makes the tarball at file and its record, both or none.
func (d *Disk) pack(ctx context.Context, file string, t tree.Tree) (a Artifact, err error) {
	dir := path.Dir(file)
	if err := d.dir.Mkdirs(dir); err != nil {
		return Artifact{}, err
	}
	temp := path.Join(dir, ".tmp-"+rand.Text())
	defer func() {
		if err != nil {
			_ = errors.Join(d.dir.Remove(temp), d.discard(file))
		}
	}()
	// What is there has no record that fits. It goes first, so that it never
	// stands beside the new one's.
	if err := d.dir.Remove(file); err != nil {
		return Artifact{}, err
	}
	if a, err = d.compress(ctx, temp, t); err != nil {
		return Artifact{}, err
	}
	a.Path = file
	if err := d.writeRecord(ctx, recordOf(file), a); err != nil {
		return Artifact{}, err
	}
	if err := d.dir.Rename(temp, file); err != nil {
		return Artifact{}, err
	}
	return a, d.dir.Sync(dir)
}

func (d *Disk) compress(ctx context.Context, temp string, t tree.Tree) (a Artifact, err error) {
	select {
	case d.packing <- struct{}{}:
	case <-ctx.Done():
		return a, context.Cause(ctx)
	}
	// Given back before the file is synced, or when nothing was written.
	done := sync.OnceFunc(func() { <-d.packing })
	defer done()
	err = d.dir.Write(ctx, temp, func(s *durable.Sink) error {
		defer done()
		var to io.Writer = s
		h := d.digest.New()
		if d.digest.String() != digest.SHA256.String() {
			to = io.MultiWriter(s, h)
		}
		r, err := pack.Write(to, t)
		a = Artifact{Digest: "sha256:" + r.Digest.String(), Size: r.Size}
		if to != s {
			a.Digest = d.digest.Of(h)
		}
		return err
	})
	return a, err
}

// discard removes the tarball at file, then its record: never the other way
// round, for that would leave something to explain.
func (d *Disk) discard(file string) error {
	if err := d.dir.Remove(file); err != nil {
		return err
	}
	return d.dir.Remove(recordOf(file))
}

// Remove implements [Store].
func (d *Disk) Remove(ctx context.Context, name types.NamespacedName) error {
	if err := checkName(name); err != nil {
		return err
	}
	unlock, err := d.locks.take(ctx, name)
	if err != nil {
		return fmt.Errorf("removing artifact %q: %w", name, err)
	}
	defer unlock()
	d.release(name)
	dir := dirOf(name)
	if err := d.dir.Do("removeall", dir, func() error { return d.dir.Root.RemoveAll(dir) }); err != nil {
		return fail.Retried(v1beta1.ReasonPruneFailed, "removing artifact %q: %w", name, err)
	}
	// A namespace with other artifacts is not empty and stays.
	_ = d.dir.Remove(path.Dir(dir))
	return nil
}

func (d *Disk) holds(name types.NamespacedName) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held[name]
}

func (d *Disk) release(name types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.held, name)
}

// Release makes the sweep treat the artifact at path like one that was seen
// referenced, and is no more. See [Release].
func (d *Disk) Release(path string) {
	name, err := nameOf(path)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held[name] == path {
		delete(d.held, name)
	}
}

// names returns the names that have a directory, sorted.
func (d *Disk) names() ([]types.NamespacedName, error) {
	var out []types.NamespacedName
	namespaces, err := d.list(top)
	for _, ns := range namespaces {
		artifacts, lerr := d.list(path.Join(top, ns.Name()))
		err = fail.Join(err, lerr)
		for _, a := range artifacts {
			name := types.NamespacedName{Namespace: ns.Name(), Name: a.Name()}
			if a.IsDir() && checkName(name) == nil {
				out = append(out, name)
			}
		}
	}
	return out, err
}

// list returns the entries of dir, none when it is missing or no directory.
func (d *Disk) list(dir string) ([]fs.DirEntry, error) {
	if info, err := d.dir.Root.Lstat(dir); err != nil || !info.IsDir() {
		if isAbsent(err) {
			err = nil
		}
		return nil, err
	}
	entries, err := fs.ReadDir(d.dir.Root.FS(), dir)
	if isAbsent(err) {
		err = nil
	}
	return entries, err
}
