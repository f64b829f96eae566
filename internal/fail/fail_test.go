package fail_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/weir-dev/weir/internal/fail"
)

func TestAsFindsTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		class fail.Class
		found bool
	}{
		"stalled":       {fail.Stalled("R", "bad %d: %w", 1, io.EOF), fail.Stall, true},
		"retried":       {fail.Retried("R", "bad: %w", io.EOF), fail.Retry, true},
		"wrapped":       {fmt.Errorf("doing: %w", fail.Stalled("R", "bad: %w", io.EOF)), fail.Stall, true},
		"joined":        {fail.Join(io.EOF, fail.Stalled("R", "bad")), fail.Stall, true},
		"of no reason":  {io.EOF, fail.Retry, false},
		"no error":      {nil, fail.Retry, false},
		"only a joined": {fail.Join(io.EOF, io.ErrNoProgress), fail.Retry, false},
	} {
		t.Run(name, func(t *testing.T) {
			e, ok := fail.As(c.err)
			if ok != c.found {
				t.Fatalf("found %v, want %v", ok, c.found)
			}
			if ok && (e.Reason != "R" || e.Class != c.class) {
				t.Errorf("got %s and class %d, want R and %d", e.Reason, e.Class, c.class)
			}
		})
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	err := fail.Join(fail.Stalled("R", "reading: %w", io.EOF), io.ErrNoProgress)
	if !errors.Is(err, io.EOF) || !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v lost a cause", err)
	}
}

func TestJoin(t *testing.T) {
	one := errors.New("one")
	if err := fail.Join(nil, nil); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	if err := fail.Join(nil, one); !errors.Is(err, one) || err.Error() != "one" {
		t.Errorf("of one: %v", err)
	}
	if err := fail.Join(one, nil, errors.New("two")); err.Error() != "one; two" {
		t.Errorf("of two: %q", err)
	}
}
