// Package terminal is what weir shows to people who watch: colours, and a line
// that tells how far it is. Files and pipes get neither.
package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colours reports whether w is a terminal that shows colours, and the
// environment does not ask for none.
func Colours(w io.Writer, getenv func(string) string) bool {
	return Is(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// Red returns text as it is written red.
func Red(text string) string { return "\x1b[31m" + text + "\x1b[0m" }

// every is how often a progress line changes at most: often enough to look
// alive, too rarely to slow a terminal down.
const every = 100 * time.Millisecond

// Progress is a line that is written over and over. A nil Progress shows
// nothing. Concurrent use is safe.
type Progress struct {
	out io.Writer

	mu    sync.Mutex
	next  time.Time
	shown bool
}

// NewProgress returns a progress line on w.
func NewProgress(w io.Writer) *Progress { return &Progress{out: w} }

// Show replaces the line, unless it changed just now.
func (p *Progress) Show(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(every), true
	fmt.Fprintf(p.out, "\r\x1b[K"+format, args...)
}

// Done wipes the line.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown, p.next = false, time.Time{}
	}
}
