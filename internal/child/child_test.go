package child

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The kernel ends the process with the thread that started it. That must not
// be the thread of the test that asked.
func TestProcessOutlivesThreads(t *testing.T) {
	g := NewGroup()
	dir := t.TempDir()
	// Twice, because the first goroutine may get the main thread, which Go never ends.
	for range 2 {
		var p *Process
		var err error
		threadEnded := make(chan struct{})
		go func() {
			defer close(threadEnded)
			runtime.LockOSThread() // ends the thread with the goroutine
			p, err = g.Start("/bin/sleep", dir, "60")
		}()
		<-threadEnded
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.done:
			t.Fatal("the process has ended with the thread")
		case <-time.After(200 * time.Millisecond):
		}
	}
	if err := g.Stop(); err != nil {
		t.Error(err)
	}
}

func TestFailureShowsTheLog(t *testing.T) {
	g := NewGroup()
	p, err := g.Start("/bin/sh", t.TempDir(), "-c", "seq 100; echo no such flag; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	err = p.Await(t.Context(), func(context.Context) error { return errors.New("never ready") })
	for _, err := range []error{err, g.Stop()} {
		if err == nil {
			t.Fatal("no error")
		}
		text := err.Error()
		if !strings.Contains(text, "sh ended too early: exit status 3\n") || !strings.HasSuffix(text, "100\nno such flag") || strings.Contains(text, "\n50\n") {
			t.Errorf("error is %q, want the status and the last lines", text)
		}
	}
}

func TestAwaitGivesUp(t *testing.T) {
	g := NewGroup()
	p, err := g.Start("/bin/sleep", t.TempDir(), "60")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = p.Await(ctx, func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.HasPrefix(err.Error(), "sleep is not ready: not yet\n") {
		t.Errorf("error is %v, want what was not ready", err)
	}
	if err := g.Stop(); err != nil {
		t.Error(err)
	}
}

func TestTerminate(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"ends well": {"trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done", ""},
		"fails":     {"trap 'echo no; exit 3' TERM; echo up; while :; do sleep 0.01; done", "sh failed when it was asked to end: exit status 3\nup\nno"},
		"does not":  {"trap '' TERM; echo up; while :; do sleep 0.01; done", "sh was asked to end and still runs: context deadline exceeded\nup"},
		"had ended": {"echo up; exit 4", "sh ended too early: exit status 4\nup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewGroup()
			p, err := g.Start("/bin/sh", t.TempDir(), "-c", c.script)
			if err != nil {
				t.Fatal(err)
			}
			// Before its trap is set, the shell would die of the signal.
			if err := p.Await(t.Context(), func(context.Context) error {
				if p.tail() != "up" || name == "had ended" && !p.ended() {
					return errors.New("not up")
				}
				return nil
			}); err != nil && name != "had ended" {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if name == "does not" {
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
			}
			defer cancel()
			var got string
			if err := p.Terminate(ctx); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("Terminate says %q, want %q", got, c.want)
			}
			// It is no news that a program has ended that was asked to.
			if err := g.Stop(); (err != nil) != (name == "had ended") {
				t.Errorf("Stop says %v", err)
			}
		})
	}
}
