package demo

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Screen shows pictures: on a terminal each in the place of the one before,
// elsewhere only those that differ, one after the other.
type Screen struct {
	out  io.Writer
	pen  Pen
	size func() (columns, rows int)
	last struct{ picture, text string } // what was shown
	away bool                           // on the terminal's other screen
}

// NewScreen returns a screen. A nil size says that the writer is no terminal.
func NewScreen(out io.Writer, pen Pen, size func() (columns, rows int)) *Screen {
	return &Screen{out: out, pen: pen, size: size}
}

const (
	enter = "\x1b[?1049h\x1b[?25l" // another screen, without a cursor
	leave = "\x1b[?25h\x1b[?1049l"
	home  = "\x1b[H"
	erase = "\x1b[K" // to the end of the line
	below = "\x1b[J"
)

// Show shows the picture, and a text below it.
func (s *Screen) Show(p picture, text string) {
	var out bytes.Buffer
	s.pen.draw(&out, p)
	picture := out.String()
	switch {
	case s.size != nil: // it may have another size now
		fmt.Fprint(s.out, s.frame(picture+text))
	case picture != s.last.picture || text != s.last.text:
		fmt.Fprintf(s.out, "\n%s%s", picture, text)
	}
	s.last.picture, s.last.text = picture, text
}

// Say writes a line that stays. Between pictures of a terminal it would not.
func (s *Screen) Say(line string) { fmt.Fprintln(s.out, line) }

// frame returns what shows as much of the text as the terminal has place for.
func (s *Screen) frame(text string) string {
	columns, rows := s.size()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > rows {
		more := fmt.Sprintf("… %d more lines: make the window higher", len(lines)-rows+1)
		lines = append(lines[:max(0, rows-1)], more)
	}
	for i, line := range lines {
		lines[i] = cut(line, columns) + erase
	}
	frame := home + strings.Join(lines, "\r\n") + below
	if !s.away {
		s.away = true
		frame = enter + frame
	}
	return frame
}

// Close leaves the terminal as it was, with the last picture in it.
func (s *Screen) Close() {
	if s.away {
		fmt.Fprintf(s.out, "%s\n%s\n", leave, s.last.picture)
		s.away = false
	}
}

// cut returns at most that many columns of a line, in which escapes have no
// width.
func cut(line string, columns int) string {
	var out strings.Builder
	width, escape := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			if width++; width > columns {
				continue // the escapes after it still count
			}
		}
		out.WriteRune(r)
	}
	return out.String()
}
