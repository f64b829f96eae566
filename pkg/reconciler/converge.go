package reconciler

import (
	"context"
	"fmt"
	"time"
)

// Backoff is how long [Converge] waits between passes. Zero fields mean 100
// milliseconds and 5 seconds.
type Backoff struct {
	First, Most time.Duration
}

// Converge repeats a pass until it is done or ctx ends. A pass that fails is
// repeated too. It returns the last result, and the last error when it gives up.
//
//	reconciler.Converge(ctx, reconciler.Backoff{}, func(ctx context.Context) (*reconciler.Result, error) {
//		return rec.Apply(ctx, request)
//	})
func Converge(ctx context.Context, b Backoff, pass func(context.Context) (*Result, error)) (*Result, error) {
	wait, most := b.First, b.Most
	if wait <= 0 {
		wait = 100 * time.Millisecond
	}
	if most <= 0 {
		most = 5 * time.Second
	}
	for {
		res, err := pass(ctx)
		if err == nil && res.Done {
			return res, nil
		}
		if res == nil && err != nil {
			return nil, err // the request itself is wrong
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			if err == nil {
				err = fmt.Errorf("not done: %w", context.Cause(ctx))
			}
			return res, err
		case <-timer.C:
		}
		wait = min(2*wait, most)
	}
}
