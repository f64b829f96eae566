package glob

import "unicode/utf8"

// set is the runes that one place of a pattern matches.
type set struct {
	spans []span
	not   bool // all runes but the spans
}

type span struct{ lo, hi rune } // with both ends

var anyButSlash = set{spans: []span{{'/', '/'}}, not: true}

func only(r rune) set { return set{spans: []span{{r, r}}} }

// single returns the rune that is all of the set.
func (s set) single() (rune, bool) {
	if s.not || len(s.spans) != 1 || s.spans[0].lo != s.spans[0].hi {
		return 0, false
	}
	return s.spans[0].lo, true
}

func (s set) has(r rune) bool {
	for _, sp := range s.spans {
		if sp.lo <= r && r <= sp.hi {
			return !s.not
		}
	}
	return s.not
}

// classEnd returns the offset of the "]" that ends the class that starts at i,
// or -1.
func classEnd(s string, i int) int {
	if i++; i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	for first := i; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == ']' && i == first:
			return -1
		case s[i] == ']':
			return i
		}
	}
	return -1
}

// class reads the class of characters that starts at i, and returns what it
// matches and the offset behind it. As in doublestar, a "-" at either end or
// behind a range stands for itself.
func (t *text) class(i int) (set, int) {
	var s set
	if i++; t.s[i] == '!' || t.s[i] == '^' {
		s.not = true
		i++
	}
	last := rune(utf8.MaxRune) // no range starts with this one
	for t.s[i] != ']' {
		r, next := t.rune(i)
		ranged := last < utf8.MaxRune && r == '-' && t.s[next] != ']'
		if i = next; ranged || r == '\\' {
			if ranged && t.s[i] == '\\' {
				i++
			}
			r, i = t.rune(i)
		}
		if ranged {
			s.spans = append(s.spans, span{last, r})
			last = utf8.MaxRune
		} else {
			s.spans = append(s.spans, span{r, r})
			last = r
		}
	}
	return s, i + 1
}
