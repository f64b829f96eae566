// Package glob is the path patterns of copy operations, compiled once and
// matched at a bounded cost. It knows strings only: it walks no tree, and does
// not decide what is copied where.
//
// Patterns are those of github.com/bmatcuk/doublestar/v4, and match what its
// Match matches:
//
//   - any characters of one segment, or none; files like ".env" too
//     ?       one character of a segment
//     [a-c]   one character of a class; [!a-c] and [^a-c] are all others, and
//     these include the slash
//     **      as a whole segment: any number of segments, or none; else like *
//     {a,b}   one of the alternatives, which may hold slashes, ** and groups
//     \c      the character c
//
// So "x/**" matches "x", "./x" matches no clean path, and of all patterns that
// end in a slash only those that end in "**/" match anything: "x/**/" matches
// "x". Paths are clean, separated by slashes, and start with none. Case counts.
//
// doublestar rewrites a pattern while it tries it and forgets earlier choices,
// so that some patterns match or not by what it tried before. Here the search
// is complete, which differs from doublestar in these cases only:
//
//   - A class that matches the slash, after a star: "*[^x]*b" matches "ab/b".
//   - A "**/" at the end of the pattern, after another star: "**/a/**/"
//     matches "a/a".
//   - A group behind a star or a final "**/", with an alternative that is empty
//     or starts with a star, and another "**/" before: nothing here matches "a"
//     by "a*{,b}", while doublestar's "**/a*{,b}" matches "a/a" but not "x/a".
package glob

import (
	"fmt"
	"io/fs"
	"strings"
)

// Limits of one pattern.
const (
	MaxBytes  = 1024 // its length
	MaxCommas = 20   // the commas inside its groups
)

// HasMeta reports whether pattern is a glob rather than the literal path of a
// file or directory. Escaped characters count: `\*.yaml` is a glob that matches
// "*.yaml". A backslash alone is part of a literal path.
func HasMeta(pattern string) bool { return strings.ContainsAny(pattern, "*?[]{}") }

// Pattern is a compiled pattern. It does not change, and concurrent calls are
// safe.
type Pattern struct {
	text   string
	prefix string
	need   string // part of every path that matches
	auto   *automaton
}

// Compile checks a pattern and compiles it. A literal path is a pattern too.
// Errors quote the pattern.
func Compile(pattern string) (*Pattern, error) {
	if len(pattern) > MaxBytes {
		return nil, fmt.Errorf("invalid pattern %q: it has %d bytes, at most %d are allowed", pattern, len(pattern), MaxBytes)
	}
	if countCommas(pattern) > MaxCommas {
		return nil, tooManyCommas(pattern)
	}
	t, err := read(pattern)
	if err != nil {
		return nil, err
	}
	states := parse(t)
	return &Pattern{text: pattern, prefix: prefix(pattern), need: need(states), auto: newAutomaton(states)}, nil
}

// String returns the pattern as it was written.
func (p *Pattern) String() string { return p.text }

// Match reports whether the pattern matches all of a path.
func (p *Pattern) Match(path string) bool {
	if !strings.Contains(path, p.need) {
		return false
	}
	var room scratch
	r := p.auto.start(&room)
	return r.feed(path) && r.matched
}

// Prefix returns the leading segments without glob characters, unescaped, or
// "." when there are none: "dir" for "dir/**", "cfg" for "cfg/{a,b}.yaml", "."
// for "*/sub/**". All paths that match are at or below it. A prefix that is
// not a valid path, like "/x" or "../x", belongs to a pattern that matches no
// clean path.
func (p *Pattern) Prefix() string { return p.prefix }

// Recursive reports whether the pattern is "**", or its prefix and "/**", so
// that it matches everything below the prefix.
func (p *Pattern) Recursive() bool {
	dir, ok := strings.CutSuffix(p.text, "/**")
	return p.text == "**" || ok && !HasMeta(dir) && p.prefix != "." && fs.ValidPath(p.prefix)
}

// CouldMatchBelow reports whether a path below the directory dir might match;
// "." is the root. When it says no, there is none.
func (p *Pattern) CouldMatchBelow(dir string) bool {
	if dir == "." {
		return true
	}
	var room scratch
	r := p.auto.start(&room)
	return r.feed(dir) && r.feed("/")
}

func prefix(pattern string) string {
	var lead []string
	for segment := range strings.SplitSeq(pattern, "/") {
		if HasMeta(segment) {
			break
		}
		lead = append(lead, segment)
	}
	if lead == nil {
		return "."
	}
	return unescape(strings.Join(lead, "/"))
}

// unescape drops each backslash, but not what it escapes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		if i < len(s) {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
