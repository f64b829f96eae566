package terminal_test

import (
	"bytes"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/cli/terminal"
)

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := terminal.NewProgress(&out)
		step := func(pause time.Duration, show, want string) {
			t.Helper()
			time.Sleep(pause)
			out.Reset()
			p.Show("%s", show)
			if got := out.String(); got != want {
				t.Errorf("%s: printed %q, want %q", show, got, want)
			}
		}
		step(0, "one", "\r\x1b[Kone")
		step(0, "too soon", "")
		step(time.Second, "two", "\r\x1b[Ktwo")

		out.Reset()
		p.Done()
		p.Done()
		if got := out.String(); got != "\r\x1b[K" {
			t.Errorf("Done printed %q", got)
		}
		step(0, "after", "\r\x1b[Kafter")
	})
}

func TestNoProgress(*testing.T) {
	var p *terminal.Progress
	p.Show("to nobody")
	p.Done()
}

func TestIs(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for name, out := range map[string]io.Writer{"a buffer": &bytes.Buffer{}, "a pipe": w} {
		if terminal.Is(out) || terminal.Colours(out, os.Getenv) {
			t.Errorf("%s counts as a terminal", name)
		}
	}
}
