package glob

import (
	"flag"
	"math/rand/v2"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

var long = flag.Bool("long", false, "try all patterns that are two bytes longer")

// words returns all strings over an alphabet of at most n bytes.
func words(alphabet string, n int) []string {
	all := []string{""}
	for from := 0; n > 0; n-- {
		to := len(all)
		for _, w := range all[from:to] {
			for _, c := range alphabet {
				all = append(all, w+string(c))
			}
		}
		from = to
	}
	return all
}

func isClean(p string) bool {
	return p != "" && p != ".." && p[0] != '/' && !strings.HasPrefix(p, "../") && path.Clean(p) == p
}

func cleanWords(alphabet string, n int) []string {
	var all []string
	for _, w := range words(alphabet, n) {
		if isClean(w) {
			all = append(all, w)
		}
	}
	return all
}

// forgets says which of the cases of the package comment a pattern is, in
// which doublestar's answer depends on what it tried before.
type forgets struct {
	choice bool // a class that matches slashes, or "**/" at the end: misses matches
	group  bool // a group behind a star or a final "**/" that may add to it
}

func forgetful(t *testing.T, pattern string) forgets {
	t.Helper()
	x, err := read(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var f forgets
	for _, s := range parse(x) {
		r, single := s.set.single()
		class := s.kind == one && s.set.has('/') && (!single || r != '/')
		tail := (s.kind == star || s.kind == deep) && s.end && !s.endInside
		f.choice = f.choice || class || tail
	}
	for i := range pattern {
		at := x.shut(i + 1)
		if pattern[i] != '*' || at == len(pattern) {
			continue
		}
		behindSlash := pattern[at] == '/' && x.alts[x.shut(at+1)] != nil
		f.group = f.group || (x.alts[at] != nil || behindSlash) && addsToStar(x, at)
	}
	return f
}

// addsToStar reports whether what the pattern has from i on may be empty, the
// rest of a "**/" at its end, or another star.
func addsToStar(x *text, i int) bool {
	i = x.shut(i)
	for _, alt := range x.alts[i] {
		if addsToStar(x, alt) {
			return true
		}
	}
	return i == len(x.s) || x.s[i] == '*' || x.s[i] == '/' && mayBeEmpty(x, i+1)
}

func mayBeEmpty(x *text, i int) bool {
	i = x.shut(i)
	for _, alt := range x.alts[i] {
		if mayBeEmpty(x, alt) {
			return true
		}
	}
	return i == len(x.s)
}

// sameAsDoublestar tries a pattern on paths.
func sameAsDoublestar(t *testing.T, pattern string, paths []string) {
	t.Helper()
	p, err := Compile(pattern)
	if valid := doublestar.ValidatePattern(pattern); valid != (err == nil) {
		t.Fatalf("%q is valid: %v, got error: %v", pattern, valid, err)
	}
	if err != nil {
		return
	}
	var f forgets
	asked := false
	for _, path := range paths {
		// Match would validate what is left of the pattern at a mismatch, and
		// fails on "[^a{]": it looks into the class.
		want := doublestar.MatchUnvalidated(pattern, path)
		got := p.Match(path)
		if got != want && !asked {
			f, asked = forgetful(t, pattern), true
		}
		if got != want && !f.group && (want || !f.choice) {
			t.Errorf("%q on %q: got %v, want %v", pattern, path, got, want)
		}
		if got {
			promises(t, p, path)
		}
	}
}

// promises checks what the methods of a pattern say about a path that it
// matches.
func promises(t *testing.T, p *Pattern, name string) {
	t.Helper()
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if !p.CouldMatchBelow(dir) {
			t.Errorf("%q could not match below %q, but matches %q", p, dir, name)
		}
		if dir == "." {
			break
		}
	}
	// Bytes that are no rune match the replacement character.
	if pre := p.Prefix(); utf8.ValidString(name) && pre != "." && name != pre && !strings.HasPrefix(name, pre+"/") {
		t.Errorf("%q has the prefix %q, but matches %q", p, pre, name)
	}
}

func TestAllShortPatterns(t *testing.T) {
	for name, tt := range map[string]struct {
		alphabet  string
		size      int
		paths     string
		pathBytes int
	}{
		"all characters": {`a/*?{},[]^!\-`, 4, "ab/]-!", 3},
		"groups":         {`a/*{},`, 6, "ab/", 5},
		"stars":          {`a/*`, 9, "ab/", 6},
		"classes":        {`ab[]^-\`, 5, `ab-]\`, 3},
		"class and path": {`a*[]^/`, 5, "ab/", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if *long {
				tt.size += 2
			}
			paths := cleanWords(tt.paths, tt.pathBytes)
			for _, pattern := range words(tt.alphabet, tt.size) {
				sameAsDoublestar(t, pattern, paths)
			}
		})
	}
}

// pattern makes up a pattern with groups in groups.
func pattern(r *rand.Rand, depth int) string {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		switch n := r.IntN(16); {
		case n < 4:
			b.WriteString("/")
		case n < 7:
			b.WriteString([]string{"a", "b", ".", "ab"}[r.IntN(4)])
		case n < 9:
			b.WriteString("*")
		case n < 11:
			b.WriteString("**")
		case n < 12:
			b.WriteString([]string{"?", "[ab]", "[^a]", `\a`, `\/`, "[!a-c/]", "[b-]"}[r.IntN(7)])
		case depth > 0:
			b.WriteString("{")
			for i := range 1 + r.IntN(3) {
				if i > 0 {
					b.WriteString(",")
				}
				if r.IntN(5) > 0 {
					b.WriteString(pattern(r, depth-1))
				}
			}
			b.WriteString("}")
		}
	}
	return b.String()
}

func TestRandomPatterns(t *testing.T) {
	paths := cleanWords("ab/.", 5)
	r := rand.New(rand.NewPCG(1, 2))
	n := 5000
	if *long {
		n *= 100
	}
	for range n {
		if p := pattern(r, 2); strings.Count(p, ",") <= 6 {
			sameAsDoublestar(t, p, paths)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range [][2]string{
		{"**/*.yaml", "a/b.yaml"}, {"{a/,b}**{,/c}", "a/b/c"}, {"[!a-c]\\*?", "d*e"},
		{"x/**", "x"}, {"{[,}],b}", "}"}, {"\xff*", "\xfe"}, {"é[à-ü]", "éé"}, {"�", "\xff"}, {"[^a{]", "a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := Compile(pattern)
		if err != nil {
			return
		}
		p.Match(path)
		// doublestar takes time exponential in the commas.
		if strings.Count(pattern, ",") <= 8 && len(path) <= 100 && isClean(path) {
			sameAsDoublestar(t, pattern, []string{path})
		}
	})
}
