// Package keep keeps the store in order: what nothing points to any more goes
// after its time, and what is damaged or gone is made again. It decides by what
// inventories and ExternalArtifacts say; how files are removed and verified is
// for package store to know.
package keep

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/store"
)

// What [Options] mean when they do not say.
const (
	DefaultSweepEvery  = 10 * time.Minute
	DefaultVerifyEvery = time.Hour
)

// Store is what is kept. [store.Disk] is one.
type Store interface {
	Sweep(ctx context.Context, p store.Policy) (store.Swept, error)
	Verify(ctx context.Context, c store.Check) (store.Verified, error)
	Examine(ctx context.Context, path string) (ok bool, err error)
}

// Cache is where the keeper sees what is in use.
type Cache interface {
	client.Reader
	// WaitForCacheSync waits until the cache is whole, and reports whether it is.
	WaitForCacheSync(ctx context.Context) bool
}

// Options are what a [Keeper] works with. All up to Log must be set.
type Options struct {
	Store Store
	// Cache has the generators of this program and all ExternalArtifacts.
	Cache Cache
	// URL returns where consumers find a path of the store.
	URL func(path string) string
	// TTL and Records say how long and how many superseded files are kept.
	TTL     time.Duration
	Records int
	// Events is told what became of the files of generators.
	Events loop.Events
	// Wake has a generator reconciled, for its files have to be made again. It
	// may block.
	Wake func(*v1beta1.ArtifactGenerator)
	Log  logr.Logger

	// SweepEvery and VerifyEvery say how often that happens when nothing asks
	// for it; zero means the defaults.
	SweepEvery, VerifyEvery time.Duration
	// Observe is told of each sweep; nil means nobody is.
	Observe func(store.Swept)
}

// Keeper keeps a store. It runs on the leader alone: what it does not see
// referenced, it removes.
type Keeper struct {
	Options

	// asked holds a value while a sweep is asked for.
	asked chan struct{}
	// doubted are files to be examined.
	doubted chan string
}

// New returns a keeper that does nothing before [Keeper.Start].
func New(o Options) *Keeper {
	o.SweepEvery = cmp.Or(o.SweepEvery, DefaultSweepEvery)
	o.VerifyEvery = cmp.Or(o.VerifyEvery, DefaultVerifyEvery)
	return &Keeper{o, make(chan struct{}, 1), make(chan string, 16)}
}

// Doubt has the file at a path verified at once, for somebody found it damaged.
// It does not block; when many are doubted at a time some wait for the next
// verification of all.
func (k *Keeper) Doubt(path string) {
	select {
	case k.doubted <- path:
	default:
	}
}

// Ask asks for a sweep. It does not block.
func (k *Keeper) Ask() {
	select {
	case k.asked <- struct{}{}:
	default:
	}
}

// Start sweeps and verifies until ctx ends, the first time as soon as the cache
// is whole. It implements manager.Runnable.
func (k *Keeper) Start(ctx context.Context) error {
	if !k.Cache.WaitForCacheSync(ctx) {
		return nil
	}
	var group sync.WaitGroup
	for _, do := range []func(context.Context){k.sweeping, k.verifying, k.doubting} {
		group.Go(func() { do(ctx) })
	}
	group.Wait()
	return nil
}

// sweeping sweeps when it is time. What was superseded just now is superfluous
// after its time; those who ask for a sweep all the while do not put it off.
func (k *Keeper) sweeping(ctx context.Context) {
	after := k.TTL + time.Second
	timer := time.NewTimer(0)
	defer timer.Stop()
	due, again := time.Now(), false
	for {
		next := k.SweepEvery
		select {
		case <-ctx.Done():
			return
		case <-k.asked:
			if time.Until(due) <= after {
				again = true // for what came too late for the one that is due
				continue
			}
			next = after
		case <-timer.C:
			if err := k.sweep(ctx); err != nil && ctx.Err() == nil {
				k.Log.Error(err, "sweeping the store")
			}
			if again {
				next, again = min(after, next), false
			}
		}
		due = time.Now().Add(next)
		timer.Reset(next)
	}
}

// verifying reads the store now and then, at a pace that nobody notices.
func (k *Keeper) verifying(ctx context.Context) {
	for {
		if err := k.verify(ctx); err != nil && ctx.Err() == nil {
			k.Log.Error(err, "verifying the store")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(k.VerifyEvery):
		}
	}
}

// doubting looks at files that are doubted.
func (k *Keeper) doubting(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case path := <-k.doubted:
			ok, err := k.Store.Examine(ctx, path)
			if err == nil && !ok {
				err = k.found(ctx, store.Verified{Corrupt: []string{path}})
			}
			if err != nil && ctx.Err() == nil {
				k.Log.Error(err, "verifying a file", "path", path)
			}
		}
	}
}

func (k *Keeper) sweep(ctx context.Context) error {
	seen, err := k.look(ctx)
	if err != nil {
		return err
	}
	swept, err := k.Store.Sweep(ctx, store.Policy{Now: time.Now(), Referenced: seen.referenced, TTL: k.TTL, Records: k.Records})
	if k.Observe != nil {
		k.Observe(swept)
	}
	if len(swept.Removed) > 0 {
		k.Log.Info("swept the store", "files", len(swept.Removed), "bytes", swept.Bytes)
		k.tell(seen.owned(swept.Removed), loop.Event{Trace: true, Reason: reasonCollected, Action: actionCollect}, "removed what is superseded")
	}
	return err
}

func (k *Keeper) verify(ctx context.Context) error {
	seen, err := k.look(ctx)
	if err != nil {
		return err
	}
	found, err := k.Store.Verify(ctx, store.Check{Referenced: seen.expected})
	if len(found.Corrupt)+len(found.Missing) == 0 {
		return err
	}
	return fail.Join(err, k.found(ctx, found))
}

// found tells of files that are damaged or missing, and has them made again.
func (k *Keeper) found(ctx context.Context, found store.Verified) error {
	k.Log.Info("files are damaged and removed, or gone", "damaged", found.Corrupt, "gone", found.Missing)
	// Looked up now, for to find them took a while.
	seen, err := k.look(ctx)
	if err != nil {
		return err
	}
	damaged := seen.owned(found.Corrupt)
	k.tell(damaged, loop.Event{Warning: true, Reason: reasonDamaged, Action: actionVerify}, "found damaged, to be made again:")
	isDamaged := map[string]bool{}
	for _, file := range found.Corrupt {
		isDamaged[file] = true
	}
	var gone []string
	for _, file := range found.Missing {
		if !isDamaged[file] {
			gone = append(gone, file)
		}
	}
	k.tell(seen.owned(gone), loop.Event{Warning: true, Reason: reasonMissing, Action: actionVerify}, "found missing, to be made again:")
	for _, g := range seen.needing(append(gone, found.Corrupt...)) {
		k.Wake(g)
	}
	return nil
}
