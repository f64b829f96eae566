package glob

import (
	"fmt"
	"unicode/utf8"
)

// text is a pattern with its groups found. A matcher reads a pattern as if it
// had put one alternative in the place of each group that it comes to: what
// follows the alternative is what follows the group. Positions are byte
// offsets, and shut and enter make that jump, so nothing is ever expanded.
type text struct {
	s     string
	alts  map[int][]int // the { of a group: where its alternatives start
	after map[int]int   // the , or } that ends an alternative: behind the group
	empty map[int]bool  // what matchesEnd found
}

// read finds the groups of a pattern. The syntax is doublestar's.
func read(s string) (*text, error) {
	t := &text{s: s, alts: map[int][]int{}, after: map[int]int{}, empty: map[int]bool{}}
	var open []int          // groups that are not closed yet
	ends := map[int][]int{} // by group: its commas and its }
	commas := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i++; i == len(s) {
				return nil, bad(s, `nothing follows the last "\"`)
			}
		case c == '[':
			if i = classEnd(s, i); i < 0 {
				return nil, bad(s, `a "[" starts a class of characters like "[a-z]", which needs a "]" and cannot be empty`)
			}
		case c == '{':
			open = append(open, i)
			t.alts[i] = []int{i + 1}
		case c == '}' && len(open) == 0:
			return nil, bad(s, `a "}" has no "{"`)
		case c == ',' && len(open) > 0:
			g := open[len(open)-1]
			t.alts[g] = append(t.alts[g], i+1)
			ends[g] = append(ends[g], i)
			commas++
		case c == '}':
			g := open[len(open)-1]
			open = open[:len(open)-1]
			for _, end := range append(ends[g], i) {
				t.after[end] = i + 1
			}
		}
	}
	if len(open) > 0 {
		return nil, bad(s, `a "{" has no "}"`)
	}
	if commas > MaxCommas {
		return nil, tooManyCommas(s)
	}
	return t, nil
}

func bad(pattern, what string) error {
	return fmt.Errorf(`invalid pattern %q: %s (a "\" before a character makes it stand for itself)`, pattern, what)
}

func tooManyCommas(pattern string) error {
	return fmt.Errorf("invalid pattern %q: at most %d commas are allowed inside {}", pattern, MaxCommas)
}

// countCommas counts as the limit's page does, for which a brace is a brace
// even in a class of characters. read counts those that separate alternatives.
func countCommas(pattern string) int {
	n, depth := 0, 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth = max(depth-1, 0)
		case ',':
			if depth > 0 {
				n++
			}
		}
	}
	return n
}

// shut leaves the groups whose alternative ends at i.
func (t *text) shut(i int) int {
	for {
		behind, ok := t.after[i]
		if !ok {
			return i
		}
		i = behind
	}
}

// enter is shut, and also goes into groups with a single alternative.
func (t *text) enter(i int) int {
	for {
		i = t.shut(i)
		if len(t.alts[i]) != 1 {
			return i
		}
		i++
	}
}

// matchesEnd reports whether the pattern from i on matches the end of a path.
// As in doublestar, only the rests below do, and a group is looked into only
// where the rest starts with it.
func (t *text) matchesEnd(i int) bool {
	i = t.enter(i)
	if found, ok := t.empty[i]; ok {
		return found
	}
	found := false
	if alts := t.alts[i]; alts != nil {
		for _, alt := range alts {
			found = found || t.matchesEnd(alt)
		}
	} else {
		var rest []byte
		for at := i; at < len(t.s) && len(rest) <= len("/**/"); at = t.shut(at + 1) {
			rest = append(rest, t.s[at])
		}
		switch string(rest) {
		case "", "*", "**", "/**", "**/", "/**/":
			found = true
		}
	}
	t.empty[i] = found
	return found
}

// rune returns the rune at i and the offset behind it.
func (t *text) rune(i int) (rune, int) {
	r, size := utf8.DecodeRuneInString(t.s[i:])
	return r, i + size
}
