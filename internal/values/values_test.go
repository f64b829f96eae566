package values_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/values"
)

// The cases of Merge as a copy operation are those of package compose.

func TestJSON(t *testing.T) {
	for name, c := range map[string]struct{ in, want, err string }{
		"nothing":           {"", "", ""},
		"a comment":         {"# nothing\n", "", ""},
		"empty documents":   {"---\n---\n{}\n---\n", "", ""},
		"YAML 1.1":          {"a: yes\nb: 0755\ny: off\n", `{"a":true,"b":493,"true":false}`, ""},
		"exact integers":    {"a: 9007199254740993\n", `{"a":9007199254740993}`, ""},
		"after empty ones":  {"---\n---\na: 1\n", `{"a":1}`, ""},
		"after dots":        {"a: 1\n...\n---\nb: 2\n", "", "want one document, have 2"},
		"two documents":     {"a: 1\n---\nb: 2\n", "", "want one document, have 2"},
		"a list":            {"- a\n", "", "document 1 is a list"},
		"a scalar":          {"text\n", "", "document 1 is a scalar"},
		"a mapping as key":  {"{a: b}: c\n", "", "a key is a mapping"},
		"a bad merge key":   {"a: {<<: 1}\n", "", "the merge key << wants a mapping"},
		"signs":             {"a: '<b> && \\u003c'\n", `{"a":"<b> && \\u003c"}`, ""},
		"anchors":           {"a: &x {k: v}\nb: *x\n", `{"a":{"k":"v"},"b":{"k":"v"}}`, ""},
		"a tab":             {"a:\n\t- b\n", "", "document 1: yaml: line 2"},
		"a byte order mark": {"\ufeffa: 1\n", `{"a":1}`, ""},
		"Windows":           {"a: 1\r\nb:\r\n  - 2\r\n", `{"a":1,"b":[2]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := values.JSON([]byte(c.in))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %q and %v, want the error %q", got, err, c.err)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Errorf("got %q and %v, want %q", got, err, c.want)
			}
		})
	}
}

// FuzzMerge holds that merging texts is merging what they say.
func FuzzMerge(f *testing.F) {
	for _, s := range [][2]string{
		{"a: {x: 1} # c\n", "a: {y: 2}\n"},
		{"# head\na:\n  # in\n  - 1\n", "b: |\n  text\n   more\n"},
		{"a: &x {k: v}\nb: *x\n", "b: {<<: {q: 1}}\n"},
		{"? a\n: b\n", "\"a\": ''\n"},
		{"a: >-\n  folded\n  text\n\n  # no comment\n", "a: null\n---\nc: ~\n"},
		{"a: 1\n", "a: 2 # x\n# foot\n"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, base, over string) {
		out, err := values.Merge([]byte(base), []byte(over))
		if err != nil {
			return
		}
		if _, err := values.Merge(out, nil); err != nil {
			t.Fatalf("%q cannot be read again: %v", out, err)
		}
		b, errB := decode(base)
		o, errO := decode(over)
		if errB != nil || errO != nil {
			return // a stream of several documents, or what JSON has not
		}
		got, err := decode(string(out))
		if err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if diff := cmp.Diff(merged(b, o), got); diff != "" {
			t.Errorf("merging %q over %q (-want +got):\n%s", over, base, diff)
		}
	})
}

func decode(text string) (map[string]any, error) {
	raw, err := values.JSON([]byte(text))
	if err != nil || raw == nil {
		return map[string]any{}, err
	}
	var out map[string]any
	return out, json.Unmarshal(raw, &out)
}

func merged(base, over map[string]any) map[string]any {
	for k, v := range over {
		b, bok := base[k].(map[string]any)
		o, ook := v.(map[string]any)
		if bok && ook {
			v = merged(b, o)
		}
		base[k] = v
	}
	return base
}
