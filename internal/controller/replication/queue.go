package replication

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/fail"
)

const (
	// many is from how many targets on a pass is large: its first one takes
	// seconds, in which it holds a worker.
	many = 500
	// atOnce is how many large passes are made at a time, of both kinds. Each
	// writes several targets at a time, so more of them would not end earlier,
	// but leave fewer workers and less of the API server to the small.
	atOnce = 2
	// askLater is how long a large pass waits if nobody calls it.
	askLater = 10 * time.Second
	// queued is the message of a replication that waits before its first pass.
	queued = "waiting until other large replications are done"
)

// queue lets small passes go on, and large ones when it is their turn.
func (r *run) queue(ctx context.Context) error {
	size := int(r.status.Size)
	if r.search != nil {
		size = max(size, r.search.Size())
	}
	if size < many || r.large.Enter(r.asOwner()) {
		return nil
	}
	if meta.FindStatusCondition(r.status.Conditions, v1beta2.ConditionReady) == nil {
		if err := r.pass.Begin(ctx, queued); err != nil {
			return err
		}
	}
	return &fail.Error{Class: fail.Later, After: askLater, Err: errors.New(queued)}
}
