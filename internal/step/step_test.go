package step_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/step"
)

var errBoom = errors.New("boom")

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		errs   []error // of the steps "0", "1", …
		ran    []string
		failed string
	}{
		"no steps":             {},
		"all of them":          {errs: []error{nil, nil}, ran: []string{"0", "1"}},
		"until one fails":      {errs: []error{nil, errBoom, nil}, ran: []string{"0", "1"}, failed: "1"},
		"until one is done":    {errs: []error{step.Done, errBoom}, ran: []string{"0"}},
		"done with a reason":   {errs: []error{fmt.Errorf("up to date: %w", step.Done), errBoom}, ran: []string{"0"}},
		"until the context is": {errs: []error{nil, context.Canceled, nil}, ran: []string{"0", "1"}, failed: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			var steps []step.Step
			for i, err := range c.errs {
				name := strconv.Itoa(i)
				steps = append(steps, step.Of(name, func(context.Context) error {
					ran = append(ran, name)
					return err
				}))
			}
			err := step.Run(t.Context(), steps...)
			if diff := cmp.Diff(c.ran, ran); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			failed := ""
			if at, ok := errors.AsType[*step.Error](err); ok {
				failed = at.Step
				if at.Error() != at.Err.Error() {
					t.Errorf("the message %q says more than its cause", at)
				}
			}
			if failed != c.failed || (err == nil) != (c.failed == "") {
				t.Errorf("got %v of step %q, want step %q to fail", err, failed, c.failed)
			}
		})
	}
}

func TestRunStopsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	err := step.Run(ctx,
		step.Of("first", func(context.Context) error { cancel(errBoom); return nil }),
		step.Of("second", func(context.Context) error { t.Error("the second step ran"); return nil }))
	if at, ok := errors.AsType[*step.Error](err); !ok || at.Step != "second" || !errors.Is(err, errBoom) {
		t.Errorf("got %#v", err)
	}
}

func TestRunnerObserves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		r := step.Runner{Observe: func(name string, took time.Duration, err error) {
			got = append(got, fmt.Sprint(name, " ", took, " ", err))
		}}
		err := r.Run(t.Context(),
			step.Of("slow", func(context.Context) error { time.Sleep(time.Second); return nil }),
			step.Of("bad", func(context.Context) error { return errBoom }))
		if !errors.Is(err, errBoom) {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"slow 1s <nil>", "bad 0s boom"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestOnFailure(t *testing.T) {
	worse := errors.New("worse")
	for name, c := range map[string]struct {
		err, want error
		ends      bool // the context, while the step runs
		calls     int
	}{
		"success": {},
		"failure": {err: errBoom, want: worse, calls: 1},
		"done":    {err: step.Done},
		"the end": {err: errBoom, want: errBoom, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			calls := 0
			failed := func(_ context.Context, err error) error {
				calls++
				if !errors.Is(err, errBoom) {
					t.Errorf("called with %v", err)
				}
				return worse
			}
			err := step.Run(ctx, step.OnFailure(failed, step.Of("one", func(context.Context) error {
				if c.ends {
					end()
				}
				return c.err
			}))...)
			if !errors.Is(err, c.want) || calls != c.calls {
				t.Errorf("error %v, want %v; %d calls, want %d", err, c.want, calls, c.calls)
			}
		})
	}
}
