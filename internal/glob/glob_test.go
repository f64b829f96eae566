package glob

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// base is the tree of the specification's case table.
var base = strings.Fields(`README.md .env top.yaml bin bin/run.sh cfg cfg/a.yaml cfg/b.yaml cfg/n.txt cfg/.hid.yaml
	cfg/sub cfg/sub/c.yaml cfg/sub/deep cfg/sub/deep/d.yaml cfg/empty`)

// below lists the base tree at and below a directory.
func below(dir string) string {
	var all []string
	for _, p := range base {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			all = append(all, p)
		}
	}
	return strings.Join(all, " ")
}

// TestGlobs has the rows A and C of the specification that are about what a
// pattern matches.
func TestGlobs(t *testing.T) {
	for row, tt := range map[string]struct {
		pattern string
		more    string // paths besides the base tree
		want    string
		prefix  string
	}{
		"A22":  {pattern: "cfg/{a,b}.yaml", want: "cfg/a.yaml cfg/b.yaml", prefix: "cfg"},
		"A23":  {pattern: "x]y", more: "x]y xy", want: "x]y", prefix: "."},
		"C1":   {pattern: "*.yaml", want: "top.yaml", prefix: "."},
		"C2":   {pattern: "*", want: "README.md .env top.yaml bin cfg", prefix: "."},
		"C3":   {pattern: "cfg/*.yaml", want: "cfg/a.yaml cfg/b.yaml cfg/.hid.yaml", prefix: "cfg"},
		"C5":   {pattern: "cfg/*", want: "cfg/a.yaml cfg/b.yaml cfg/n.txt cfg/.hid.yaml cfg/sub cfg/empty", prefix: "cfg"},
		"C6":   {pattern: "cfg/**", want: below("cfg"), prefix: "cfg"},
		"C7":   {pattern: "**", want: strings.Join(base, " "), prefix: "."},
		"C8":   {pattern: "cfg/**/", want: "cfg", prefix: "cfg"},
		"C9":   {pattern: "**/*.yaml", want: "top.yaml cfg/a.yaml cfg/b.yaml cfg/.hid.yaml cfg/sub/c.yaml cfg/sub/deep/d.yaml", prefix: "."},
		"C10":  {pattern: "cfg/**/*.yaml", want: "cfg/a.yaml cfg/b.yaml cfg/.hid.yaml cfg/sub/c.yaml cfg/sub/deep/d.yaml", prefix: "cfg"},
		"C11":  {pattern: "cfg/**/d.yaml", want: "cfg/sub/deep/d.yaml", prefix: "cfg"},
		"C12":  {pattern: "*/sub", want: "cfg/sub", prefix: "."},
		"C13":  {pattern: "*/sub/**", want: below("cfg/sub"), prefix: "."},
		"C14":  {pattern: "c*g/**", want: below("cfg"), prefix: "."},
		"C15":  {pattern: "?in/*", want: "bin/run.sh", prefix: "."},
		"C16":  {pattern: "cfg/[ab].yaml", want: "cfg/a.yaml cfg/b.yaml", prefix: "cfg"},
		"C17":  {pattern: "{cfg,bin}/*.{sh,txt}", want: "bin/run.sh cfg/n.txt", prefix: "."},
		"C19":  {pattern: "./cfg/*.yaml", prefix: "./cfg"},
		"C20":  {pattern: "../*", prefix: ".."},
		"C21":  {pattern: "*.md", want: "README.md", prefix: "."},
		"C21b": {pattern: "cfg/[!a].yaml", more: "cfg/!.yaml", want: "cfg/b.yaml cfg/!.yaml", prefix: "cfg"},
		"C21c": {pattern: `cfg/\*.yaml`, more: "cfg/*.yaml", want: "cfg/*.yaml", prefix: "cfg"},
		// Not in the tables.
		"case":           {pattern: "readme.*", prefix: "."},
		"nested":         {pattern: "{cfg/{sub/**,n.*},bin/run.sh}", want: "bin/run.sh cfg/n.txt " + below("cfg/sub"), prefix: "."},
		"deep in group":  {pattern: "{cfg,x}/{**/d,sub/c}.yaml", want: "cfg/sub/c.yaml cfg/sub/deep/d.yaml", prefix: "."},
		"two segments":   {pattern: "cfg/sub/**", want: below("cfg/sub"), prefix: "cfg/sub"},
		"escaped prefix": {pattern: `c\fg/s*`, want: "cfg/sub", prefix: "cfg"},
		"not UTF-8":      {pattern: "a\ufffd?", more: "a\xff\xfe aé", want: "a\xff\xfe", prefix: "."},
	} {
		t.Run(row, func(t *testing.T) {
			p, err := Compile(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, path := range append(base[:len(base):len(base)], strings.Fields(tt.more)...) {
				if p.Match(path) {
					got = append(got, path)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%q matches (-want +got):\n%s", tt.pattern, diff)
			}
			if got := p.Prefix(); got != tt.prefix {
				t.Errorf("%q has the prefix %q, want %q", tt.pattern, got, tt.prefix)
			}
		})
	}
}

func TestDifferencesFromDoublestar(t *testing.T) {
	for pattern, tt := range map[string]struct{ match, not string }{
		"*[^x]*b":    {match: "ab/b"},
		"**/a/**/":   {match: "a/a a x/a", not: "a/x"},
		"**/a*{,b}":  {match: "a/ax ab", not: "a a/a x/a"},
		"a*{,b}":     {match: "ab ax", not: "a"},
		"a**/":       {match: "a", not: "ax a/x"},
		"a/{**,b}":   {match: "a/b a/b/c", not: "a"},
		"{a/**,a/b}": {match: "a a/b a/b/c"},
		"[^a{]":      {match: "b /", not: "a {"},
	} {
		p, err := Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range strings.Fields(tt.match) {
			if !p.Match(path) {
				t.Errorf("%q does not match %q", pattern, path)
			}
		}
		for _, path := range strings.Fields(tt.not) {
			if p.Match(path) {
				t.Errorf("%q matches %q", pattern, path)
			}
		}
	}
}

func TestInvalidPatterns(t *testing.T) {
	commas := func(n int) string { return "{" + strings.Repeat("a,", n) + "a}" }
	for name, tt := range map[string]struct{ pattern, want string }{
		"C18":             {"[a", `a "[" starts a class`},
		"D16":             {"[", `a "[" starts a class`},
		"empty class":     {"a[]b", `cannot be empty`},
		"lone close":      {"a}b", `a "}" has no "{"`},
		"lone open":       {"a{b,[}]", `a "{" has no "}"`},
		"backslash":       {`a\`, `nothing follows the last "\"`},
		"too long":        {strings.Repeat("a", 1025), "1025 bytes, at most 1024 are allowed"},
		"longest":         {strings.Repeat("a", 1024), ""},
		"D23 accepted":    {commas(20), ""},
		"D23":             {commas(21), "at most 20 commas"},
		"in two groups":   {commas(10) + "{" + commas(9) + ",b,c}", "at most 20 commas"},
		"outside groups":  {strings.Repeat(",", 30) + commas(20) + ",", ""},
		"escaped commas":  {"{" + strings.Repeat(`a\,`, 30) + "}", ""},
		"in a class":      {"{[" + strings.Repeat(",", 21) + "]}", "at most 20 commas"},
		"hidden by class": {"{[}]" + strings.Repeat("a,", 21) + "}", "at most 20 commas"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(tt.pattern)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want == "":
			case err == nil:
				t.Errorf("no error for %q", tt.pattern)
			case !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), strconv.Quote(tt.pattern)):
				t.Errorf("got %q, want %q and the pattern", err, tt.want)
			}
		})
	}
}

func TestHasMeta(t *testing.T) {
	for pattern, want := range map[string]bool{
		"": false, "cfg/a.yaml": false, `cfg\a.yaml`: false, "a,b!^-": false,
		"*": true, "a?": true, "[a]": true, "x]y": true, "{a}": true, "a}": true, `cfg/\*.yaml`: true,
	} {
		if got := HasMeta(pattern); got != want {
			t.Errorf("HasMeta(%q) is %v", pattern, got)
		}
	}
}

func TestRecursive(t *testing.T) {
	for pattern, want := range map[string]bool{
		"**": true, "cfg/**": true, "cfg/sub/**": true, `c\fg/**`: true,
		"*": false, "*/**": false, "cfg/*": false, "cfg/**/*": false, "cfg**": false, "{a,b}/**": false,
		"./**": false, "../**": false, "/**": false, "a//**": false, "a/./**": false, `\./**`: false, `cfg/\**`: false,
	} {
		p, err := Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Recursive(); got != want {
			t.Errorf("%q: got %v", pattern, got)
		}
		if want && (p.Prefix() != "." && !p.Match(p.Prefix()+"/x/y") || p.Prefix() == "." && !p.Match("x/y")) {
			t.Errorf("%q does not match all below %q", pattern, p.Prefix())
		}
	}
}

func TestCouldMatchBelow(t *testing.T) {
	for pattern, tt := range map[string]struct{ yes, no string }{
		"cfg/*.yaml":   {". cfg", "cfg/sub bin cf cfgs"},
		"*/sub/**":     {". cfg cfg/sub cfg/sub/x/y", "cfg/x"},
		"**/*.yaml":    {". cfg cfg/sub", ""},
		"{a,b/*}/c":    {". a b b/x", "c a/c b/x/c"},
		"cfg/a{b,c}/d": {". cfg cfg/ab", "cfg/a cfg/abc"},
	} {
		p, err := Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range strings.Fields(tt.yes) {
			if !p.CouldMatchBelow(dir) {
				t.Errorf("%q cannot match below %q", pattern, dir)
			}
		}
		for _, dir := range strings.Fields(tt.no) {
			if p.CouldMatchBelow(dir) {
				t.Errorf("%q could match below %q", pattern, dir)
			}
		}
	}
}

// TestHostilePatterns gives each pattern that is costly by design a time in
// which doublestar is far from an answer.
func TestHostilePatterns(t *testing.T) {
	patterns, path := hostile()
	for name, pattern := range patterns {
		p, err := Compile(pattern)
		if err != nil {
			t.Fatal(name, err)
		}
		start := time.Now()
		p.Match(path)
		p.Match(strings.ReplaceAll(path, "/", "a"))
		if took := time.Since(start); took > time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}
