package demo

import (
	"strings"
	"testing"
)

func TestPlainScreenShowsChanges(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, Pen{}, nil)
	s.Show(shop(), "hint\n")
	first := out.String()
	s.Show(shop(), "hint\n")
	if out.String() != first || !strings.HasSuffix(first, "\nhint\n") {
		t.Errorf("it shows %q, want the picture once", &out)
	}
	changed := shop()
	changed.Generators[0].Message = "working"
	s.Show(changed, "hint\n")
	s.Close()
	if got := out.String()[len(first):]; !strings.Contains(got, "working") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("it shows %q, want the other picture, plain", got)
	}
}

func TestTerminalIsLeftAsItWas(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, Pen{Colours: true}, func() (int, int) { return 20, 3 })
	s.Show(shop(), "")
	shown := out.String()
	lines := strings.Split(strings.TrimPrefix(shown, enter+home), "\r\n")
	if !strings.HasPrefix(shown, enter+home) || len(lines) != 3 || !strings.HasPrefix(lines[2], "… 3 more lines: make") {
		t.Errorf("it shows %q, want as much as there is place for", lines)
	}
	s.Show(shop(), "hint\n")
	if again := out.String()[len(shown):]; !strings.HasPrefix(again, home) {
		t.Errorf("it goes on with %q, want the next picture in the same place", again)
	}
	shown = out.String()
	s.Close()
	s.Close()
	closed := out.String()[len(shown):]
	if !strings.HasPrefix(closed, leave) || strings.Count(closed, leave) != 1 || !strings.Contains(closed, "shop/frontend") || strings.Contains(closed, "hint") {
		t.Errorf("at the end it shows %q, want all of the last picture on the screen of before", closed)
	}
}

func TestCut(t *testing.T) {
	for line, want := range map[string]string{
		"short":                             "short",
		"as long":                           "as long",
		"much too long":                     "much to",
		"\x1b[1mmuch too\x1b[0m long":       "\x1b[1mmuch to\x1b[0m",
		"✓ a tick":                          "✓ a tic",
		"\x1b[32m✓\x1b[0m \x1b[2mab\x1b[0m": "\x1b[32m✓\x1b[0m \x1b[2mab\x1b[0m",
	} {
		if got := cut(line, 7); got != want {
			t.Errorf("cut(%q) is %q, want %q", line, got, want)
		}
	}
}
