// Package beacon finds out whether the address that is advertised to consumers
// leads to this program. A controller that advertises another's address, as
// copied flags make it do, looks healthy: all its artifacts are built, and all
// downloads of them fail.
package beacon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Path is where a beacon answers.
const Path = "/.weir-beacon"

const (
	timeout = 5 * time.Second
	// soon is how long after a failure the address is tried again, and calm how
	// long after a success.
	soon = 5 * time.Second
	calm = 10 * time.Minute
	// patience is for how many failures in a row nothing is said: a Service
	// knows a new pod only once it is ready.
	patience = 6
)

// Beacon answers requests in a way that only it can.
type Beacon struct {
	sign string
	told func(error)
	wait time.Duration // after a failure
}

// New returns a beacon that tells what it finds out: nil whenever the address
// leads here, and why it does not once that has lasted for half a minute.
func New(told func(error)) *Beacon { return &Beacon{sign: rand.Text(), told: told, wait: soon} }

// Handler answers for the beacon, and leaves the rest to next.
func (b *Beacon) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != Path {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, b.sign)
	})
}

// Watch tries the URL, which is to lead to [Path] of the beacon, again and again
// until ctx ends.
func (b *Beacon) Watch(ctx context.Context, url string) {
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	for failures := 0; ; {
		err := b.try(ctx, client, url)
		if ctx.Err() != nil {
			return
		}
		wait := calm
		if err == nil {
			failures = 0
		} else {
			failures++
			wait = b.wait
		}
		if failures == 0 || failures >= patience {
			b.told(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// errOther says that somebody else answers.
var errOther = errors.New("another program answers there")

func (b *Beacon) try(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	switch {
	case err != nil:
		return fmt.Errorf("reading the answer of %q: %w", url, err)
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%w: %q answers %s", errOther, url, res.Status)
	case string(body) != b.sign:
		return fmt.Errorf("%w: %q answers with something else", errOther, url)
	}
	return nil
}
