package expand

import (
	"fmt"
	"slices"
	"strings"
)

// Template is text with {name} placeholders. A brace group that holds a comma
// is not a placeholder but alternation, and is kept as it stands, with the
// placeholders inside it rendered; a backslash keeps the next character from
// counting as a brace. The zero value renders the empty string.
type Template struct{ parts []part }

// part is a literal, or a placeholder when name is set.
type part struct{ text, name string }

// ParseTemplate parses text.
func ParseTemplate(text string) (Template, error) {
	var t Template
	rest, err := t.parse(text)
	if err == nil && rest != "" {
		err = fmt.Errorf("%q has a } without its {", text)
	}
	if err != nil {
		return Template{}, err
	}
	return t, nil
}

// parse reads text up to its end, or up to a } that it did not open, and
// returns what is left.
func (t *Template) parse(text string) (string, error) {
	for text != "" {
		i := strings.IndexAny(text, `\{}`)
		switch {
		case i < 0:
			t.literal(text)
			return "", nil
		case text[i] == '\\':
			n := min(i+2, len(text))
			t.literal(text[:n])
			text = text[n:]
		case text[i] == '}':
			t.literal(text[:i])
			return text[i:], nil
		default:
			t.literal(text[:i])
			rest, err := t.group(text[i+1:])
			if err != nil {
				return "", err
			}
			text = rest
		}
	}
	return "", nil
}

// group reads the group whose { was just read, and returns what follows its }.
func (t *Template) group(text string) (string, error) {
	alternation, end := scanGroup(text)
	if end < 0 {
		return "", fmt.Errorf("the { before %q is never closed", text)
	}
	if alternation {
		t.literal("{")
		rest, err := t.parse(text)
		if err != nil {
			return "", err
		}
		t.literal("}")
		return rest[1:], nil
	}
	name := text[:end]
	if err := checkName(name); err != nil {
		return "", err
	}
	t.parts = append(t.parts, part{name: name})
	return text[end+1:], nil
}

// scanGroup finds the } that closes the group that text starts in, or -1, and
// whether a comma stands in the group outside nested ones.
func scanGroup(text string) (alternation bool, end int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			alternation = alternation || depth == 0
		case '}':
			if depth == 0 {
				return alternation, i
			}
			depth--
		}
	}
	return alternation, -1
}

func (t *Template) literal(text string) {
	if text == "" {
		return
	}
	if n := len(t.parts); n > 0 && t.parts[n-1].name == "" {
		t.parts[n-1].text += text
		return
	}
	t.parts = append(t.parts, part{text: text})
}

// Names returns the placeholders of t, sorted, each once.
func (t Template) Names() []string {
	var out []string
	for _, p := range t.parts {
		if p.name != "" {
			out = append(out, p.name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Render puts values in place of the placeholders. A name without a value
// renders as nothing: whether all are known is for the caller to check once,
// with [Template.Names].
func (t Template) Render(values map[string]string) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.name != "" {
			b.WriteString(values[p.name])
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// Literal returns a template without placeholders.
func Literal(text string) Template {
	var t Template
	t.literal(text)
	return t
}
