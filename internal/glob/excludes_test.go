package glob

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExcludes has the rows D of the specification. What lies below an
// excluded directory is listed only if a pattern matches it: pruning is the
// caller's part, and so is the root of the selection.
func TestExcludes(t *testing.T) {
	for row, tt := range map[string]struct {
		sel     string // root of the selection; empty: none
		exclude string // separated by blanks
		more    string // paths besides the base tree
		want    string
	}{
		"D1":           {sel: "cfg", exclude: "*.yaml", want: "cfg/a.yaml cfg/b.yaml cfg/.hid.yaml cfg/sub/c.yaml cfg/sub/deep/d.yaml"},
		"D2":           {sel: "cfg", exclude: "sub", want: "cfg/sub"},
		"D3":           {sel: "cfg", exclude: "sub/**", want: below("cfg/sub")},
		"D4":           {sel: "cfg", exclude: "sub/*", want: "cfg/sub/c.yaml cfg/sub/deep"},
		"D5":           {sel: "cfg", exclude: "sub/ ./sub/** /sub/**"},
		"D6":           {sel: "cfg", exclude: "cfg/sub", want: "cfg/sub"},
		"D7":           {sel: "cfg", exclude: "cfg/sub/**", want: below("cfg/sub")},
		"D8":           {sel: "cfg", exclude: "**/deep/**", want: below("cfg/sub/deep")},
		"D9":           {sel: "cfg", exclude: "{a,b,d}.yaml", want: "cfg/a.yaml cfg/b.yaml cfg/sub/deep/d.yaml"},
		"D10 any":      {sel: "cfg", exclude: "*", want: strings.TrimPrefix(below("cfg"), "cfg ")},
		"D10 all":      {sel: "cfg", exclude: "**", want: strings.TrimPrefix(below("cfg"), "cfg ")},
		"D12":          {sel: ".", exclude: "**/.*", want: ".env cfg/.hid.yaml"},
		"D13 name":     {exclude: "a.yaml", want: "cfg/a.yaml"},
		"D13 path":     {exclude: "cfg/a.yaml", want: "cfg/a.yaml"},
		"D13 dir":      {exclude: "cfg/**", want: below("cfg")},
		"D14":          {exclude: "b.yaml", want: "cfg/b.yaml"},
		"D17":          {sel: "cfg", exclude: ""},
		"D19":          {sel: "cfg", exclude: "cfg/**", want: strings.TrimPrefix(below("cfg"), "cfg ")},
		"D20":          {sel: "cfg", exclude: "!a.yaml"},
		"D21":          {sel: "cfg", exclude: "[!a].yaml", want: "cfg/b.yaml cfg/sub/c.yaml cfg/sub/deep/d.yaml"},
		"D22":          {sel: "cfg/sub", exclude: "sub/**"},
		"D22 absent":   {exclude: "sub/**"},
		"two patterns": {sel: "cfg", exclude: "n.* sub/deep", want: "cfg/n.txt cfg/sub/deep"},
		"class and /":  {sel: "cfg", exclude: "sub[!x]c.yaml", want: "cfg/sub/c.yaml"},
	} {
		t.Run(row, func(t *testing.T) {
			e, err := CompileExcludes(strings.Split(tt.exclude, " "))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, path := range base {
				rel, inside := strings.CutPrefix(path, tt.sel+"/")
				switch tt.sel {
				case "":
					rel, inside = "", true
				case ".":
					rel, inside = path, true
				}
				if inside && e.Match(path, rel) {
					got = append(got, path)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("excluded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInvalidExcludes(t *testing.T) {
	if _, err := CompileExcludes([]string{"*.md", "[a"}); err == nil || !strings.Contains(err.Error(), strconv.Quote("[a")) {
		t.Errorf("got %v", err)
	}
	if _, err := CompileExcludes(make([]string, MaxExcludes+1)); err == nil || !strings.Contains(err.Error(), "100") {
		t.Errorf("got %v", err)
	}
	for _, list := range [][]string{nil, {""}, make([]string, MaxExcludes)} {
		if e, err := CompileExcludes(list); e != nil || err != nil || e.Match("a", "a") {
			t.Errorf("%q: got %v, %v", list, e, err)
		}
	}
}
