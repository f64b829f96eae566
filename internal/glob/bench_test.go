package glob

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

// hostile are patterns of the allowed size that are costly to match, and a path
// that makes them so. It has a "b", which all of them need.
func hostile() (patterns map[string]string, path string) {
	fill := func(head, unit string) string {
		return head + strings.Repeat(unit, (MaxBytes-len(head)-1)/len(unit)) + "b"
	}
	return map[string]string{
		"stars":    fill("**/", "*a"),
		"any":      fill("**/", "*?"),
		"deep":     fill("", "**/*/"),
		"groups":   fill("**/"+strings.Repeat("{a*,*a}", MaxCommas), "*a"),
		"wide":     "**/{" + strings.Repeat(strings.Repeat("*a", 23)+",", MaxCommas) + "*c}b",
		"nested":   fill("**/"+strings.Repeat("{*a,", MaxCommas)+strings.Repeat("}", MaxCommas), "*a"),
		"optional": fill("**/"+strings.Repeat("{,a}", MaxCommas), "*a"),
		"classes":  fill("**/", "*[^b]"),
	}, strings.Repeat("a/aaaaaaaaa", 10) + "/ba" + strings.Repeat("a/aaaaaaaaa", 10)
}

func BenchmarkMatch(b *testing.B) {
	const path = "clusters/production/team-a/apps/podinfo/overlays/kustomization.yaml"
	run := func(name, pattern, path string) {
		p, err := Compile(pattern)
		if err != nil {
			b.Fatal(name, err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Match(path)
			}
		})
	}
	for name, pattern := range map[string]string{
		"ext": "**/*.yaml", "dir": "**/testdata/**", "base": "*.md", "literal": "clusters/staging",
		"alternatives": "clusters/{staging,production}/**/{apps,infra}/*/overlays/*.y{,a}ml",
	} {
		run("usual/"+name, pattern, path)
		b.Run("doublestar/"+name, func(b *testing.B) {
			for b.Loop() {
				doublestar.MatchUnvalidated(pattern, path)
			}
		})
	}
	patterns, long := hostile()
	for name, pattern := range patterns {
		run("hostile/"+name, pattern, path)
		run("hostile-long/"+name, pattern, long)
		run("hostile-flat/"+name, pattern, strings.ReplaceAll(long, "/", "a"))
	}
}

// BenchmarkExcludes is one selection of 21,000 files against a full list.
func BenchmarkExcludes(b *testing.B) {
	var paths []string
	for i := range 21000 {
		paths = append(paths, fmt.Sprintf("aaaaaaaa/aaaabaaaaa/aa%04d/aaaaaaaaaaaaaaaa/aaaaaaaaa/aaaaa%d.yaml", i/20, i))
	}
	run := func(name string, list []string) {
		e, err := CompileExcludes(list)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, p := range paths {
					e.Match(p, p[len("aaaaaaaa/"):])
				}
			}
		})
	}
	run("usual", []string{"*.md", "**/testdata/**", "**/.*", "charts/**", "kustomization.yaml"})
	patterns, _ := hostile()
	for name, pattern := range patterns {
		list := make([]string, MaxExcludes)
		for i := range list {
			list[i] = pattern
		}
		run("hostile/"+name, list)
	}
}

func BenchmarkCompile(b *testing.B) {
	patterns, _ := hostile()
	patterns["usual"] = "**/*.yaml"
	var runes strings.Builder
	for r := rune(0x100); runes.Len() < MaxBytes-2; r += 2 {
		runes.WriteRune(r)
	}
	patterns["runes"] = runes.String()
	for name, pattern := range patterns {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Compile(pattern); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
