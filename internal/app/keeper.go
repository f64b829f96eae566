package app

import (
	"context"
	"fmt"
	"path"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/store"
)

// How often the store is swept and verified when nothing asks for it.
const (
	sweepEvery  = 10 * time.Minute
	verifyEvery = time.Hour
)

// keeper keeps the store in order: it sweeps what nothing points to any more,
// and verifies what is there. It runs on the leader, once the cache is whole:
// what it does not see referenced, it removes.
type keeper struct {
	store  *store.Disk
	cache  cache.Cache
	policy Storage
	log    logr.Logger
	// asked holds a value while a sweep is asked for.
	asked chan struct{}
	// damaged is called with the generators whose files are gone or were
	// removed, for they have to be made again.
	damaged func(*v1beta1.ArtifactGenerator)
}

// ask asks for a sweep. It does not block.
func (k *keeper) ask() {
	select {
	case k.asked <- struct{}{}:
	default:
	}
}

// Start sweeps and verifies until ctx ends. It implements manager.Runnable.
func (k *keeper) Start(ctx context.Context) error {
	if !k.cache.WaitForCacheSync(ctx) {
		return nil
	}
	go k.verify(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.asked:
			// What was superseded just now is superfluous after its time.
			timer.Reset(k.policy.TTL + time.Second)
			continue
		case <-timer.C:
		}
		if err := k.sweep(ctx); err != nil && ctx.Err() == nil {
			k.log.Error(err, "sweeping the store")
		}
		timer.Reset(sweepEvery)
	}
}

func (k *keeper) sweep(ctx context.Context) error {
	used, err := k.used(ctx)
	if err != nil {
		return err
	}
	referenced := make(map[string]bool, len(used))
	for file := range used {
		referenced[file] = true
	}
	swept, err := k.store.Sweep(ctx, store.Policy{
		Now: time.Now(), Referenced: referenced, TTL: k.policy.TTL, Records: k.policy.Records,
	})
	if len(swept.Removed) > 0 {
		k.log.Info("swept the store", "files", len(swept.Removed), "bytes", swept.Bytes)
	}
	return err
}

// verify reads the store now and then, and has damaged artifacts made again.
func (k *keeper) verify(ctx context.Context) {
	for {
		if err := k.verifyOnce(ctx); err != nil && ctx.Err() == nil {
			k.log.Error(err, "verifying the store")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(verifyEvery):
		}
	}
}

func (k *keeper) verifyOnce(ctx context.Context) error {
	found, err := k.store.Verify(ctx, store.Check{})
	if len(found.Corrupt) == 0 {
		return err
	}
	k.log.Info("removed damaged artifacts", "files", found.Corrupt)
	used, lerr := k.used(ctx)
	if lerr != nil {
		return lerr
	}
	for _, file := range found.Corrupt {
		if g := used[file]; g != nil {
			k.damaged(g)
		}
	}
	return err
}

// used returns the paths that inventories and ExternalArtifacts point to, with
// the generator where one is known.
func (k *keeper) used(ctx context.Context) (map[string]*v1beta1.ArtifactGenerator, error) {
	out := map[string]*v1beta1.ArtifactGenerator{}
	var artifacts sourcev1.ExternalArtifactList
	if err := k.cache.List(ctx, &artifacts, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ExternalArtifacts: %w", err)
	}
	for i := range artifacts.Items {
		if a := artifacts.Items[i].Status.Artifact; a != nil {
			out[a.Path] = nil
		}
	}
	var generators v1beta1.ArtifactGeneratorList
	if err := k.cache.List(ctx, &generators, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ArtifactGenerators: %w", err)
	}
	for i := range generators.Items {
		for _, e := range generators.Items[i].Status.Inventory {
			if e.IsArtifact() {
				name := types.NamespacedName{Namespace: e.Namespace, Name: e.Name}
				out[path.Join(path.Dir(store.Path(name, blob.Digest{})), e.Filename)] = &generators.Items[i]
			}
		}
	}
	return out, nil
}
