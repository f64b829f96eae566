package expand_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/expand"
	"github.com/weir-dev/weir/internal/tree"
)

// The cases of patterns and templates together are those of package recipe.

func TestTemplate(t *testing.T) {
	values := map[string]string{"a": "A", "b_1": "B"}
	for name, c := range map[string]struct {
		text, want string
		names      []string
	}{
		"plain":                 {"x/y", "x/y", nil},
		"empty":                 {"", "", nil},
		"placeholders":          {"{a}-{b_1}/{a}", "A-B/A", []string{"a", "b_1"}},
		"alternation":           {"x.{yaml,yml}", "x.{yaml,yml}", nil},
		"inside alternation":    {"{{a},{b_1}}/x", "{A,B}/x", []string{"a", "b_1"}},
		"nested alternation":    {"{x,{y,{a}}}", "{x,{y,A}}", []string{"a"}},
		"an escaped brace":      {`\{a\}`, `\{a\}`, nil},
		"an escaped comma":      {`{x\,y,z}`, `{x\,y,z}`, nil},
		"a backslash at an end": {`x\`, `x\`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, err := expand.ParseTemplate(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := tmpl.Render(values); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if diff := cmp.Diff(c.names, tmpl.Names()); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTemplateRefuses(t *testing.T) {
	for _, text := range []string{"{", "}", "{}", "{a", "a}", "{a}}", "{a-b}", "{1}", "{{a}}", "{x,y", `{a\}`, "{_}", "{a_}"} {
		if _, err := expand.ParseTemplate(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{a}", "{a,{b}}", `\{`, "x{a}y{b}", "{{{,}}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := expand.ParseTemplate(text)
		if err != nil {
			return
		}
		values := map[string]string{}
		for _, n := range tmpl.Names() {
			values[n] = "{" + n + "}"
		}
		if got := tmpl.Render(values); got != text {
			t.Errorf("%q renders as itself to %q", text, got)
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"{a}", "apps/{app}/envs/{env}", "x-{a}-{b}", "a//./b", "{a}.{b}.{c}"} {
		f.Add(s, "apps/web/envs/prod")
	}
	f.Fuzz(func(t *testing.T, pattern, dir string) {
		p, err := expand.Compile(pattern)
		if err != nil {
			return
		}
		var b tree.Builder
		if err := b.AddDir(dir); err != nil {
			return
		}
		matches, _ := p.Matches(b.Tree())
		for _, m := range matches {
			rendered, err := expand.ParseTemplate(strings.Trim(pattern, "/"))
			if err == nil && !strings.Contains(pattern, "/") && rendered.Render(m.Raw) != m.Dir {
				t.Errorf("%q matches %q with %v", pattern, m.Dir, m.Raw)
			}
		}
	})
}
