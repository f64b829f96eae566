package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/testpod"
)

// quiet is for how long the controller has nothing to do when it has settled.
const quiet = time.Second

// load is what the controller has to do and has been given to do.
type load struct {
	queues               int     // how many there are
	waiting, busy, added float64 // in all of them: due items, workers at work, items ever
}

// settle returns when the controller has been idle for a while. What waits for
// its time, such as a retry, is nothing to do yet.
func (c *controller) settle(ctx context.Context) error {
	var last load
	var since time.Time
	return await(ctx, func() error {
		text, err := testpod.Get(ctx, "http://"+c.Host()+":8080/metrics")
		if err != nil {
			return fmt.Errorf("reading the controller's queues: %w", err)
		}
		now := parseLoad(string(text))
		switch {
		case now.queues == 0:
			return errors.New("the controller has no queues yet")
		case now.waiting > 0 || now.busy > 0 || now != last:
			last, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("the controller is at work: %+v", now)
		}
		return nil
	})
}

// parseLoad sums over the queues and the controllers in the text format of
// Prometheus.
func parseLoad(text string) load {
	var l load
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, "{")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			continue // a comment
		}
		switch name {
		case "workqueue_depth":
			l.waiting += value
		case "workqueue_adds_total":
			l.queues++
			l.added += value
		case "controller_runtime_active_workers":
			l.busy += value
		}
	}
	return l
}

func TestParseLoad(t *testing.T) {
	t.Parallel()
	got := parseLoad(`# HELP workqueue_depth Current depth of workqueue by workqueue and priority
# TYPE workqueue_depth gauge
workqueue_depth{controller="a",name="a",priority="-100"} 2
workqueue_depth{controller="a",name="a",priority=""} 1
workqueue_depth_of_another_kind{name="a"} 50
# TYPE workqueue_adds_total counter
workqueue_adds_total{controller="a",name="a"} 1.5e+01
workqueue_adds_total{controller="b",name="b"} 2
controller_runtime_active_workers{controller="a"} 4
controller_runtime_max_concurrent_reconciles{controller="a"} 10
`)
	if want := (load{queues: 2, waiting: 3, busy: 4, added: 17}); got != want {
		t.Errorf("load is %+v, want %+v", got, want)
	}
}
