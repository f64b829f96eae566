package keep

import (
	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/tally"
)

// Reasons of events; that of collections is source-controller's.
const (
	reasonCollected = "GarbageCollectionSucceeded"
	reasonDamaged   = "ArtifactDamaged"
	reasonMissing   = external.ReasonMissing
)

// Actions of events.
const (
	actionCollect = "CollectGarbage"
	actionVerify  = "Verify"
)

// tell records one event for each generator, however many of its files are
// concerned.
func (k *Keeper) tell(files map[*v1beta1.ArtifactGenerator][]string, e loop.Event, what string) {
	for g, list := range files {
		e.Message = what + " " + tally.Of(len(list), "file", func(i int) string { return list[i] })
		k.Events.Record(g, e)
	}
}
