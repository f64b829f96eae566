// Package expand finds the directories of a tree that a path pattern matches,
// and renders the templates of artifacts with what the pattern captured. It
// knows neither artifacts nor the API.
package expand

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/weir-dev/weir/internal/tree"
)

// Pattern is a path of directories in which {name} captures one or more
// characters of a segment. Everything else in it is literal, glob characters
// too.
type Pattern struct {
	text     string
	segments []segment
	names    []string
}

// segment matches one directory name: by name when it captures nothing, else
// by expr, whose groups are the captures names.
type segment struct {
	name  string
	expr  *regexp.Regexp
	names []string
}

// Match is a directory that a pattern matched.
type Match struct {
	// Dir is the path of the directory in the tree.
	Dir string
	// Raw holds the captures as the directory is spelt, for paths.
	Raw map[string]string
	// Lower holds them in lower case, for names and labels.
	Lower map[string]string
}

// Reject is a directory that a pattern matched but that cannot be used.
type Reject struct {
	Dir string
	Err error
}

// Compile parses a pattern, which is relative to the root of a source. Slashes
// too many and "." segments are dropped. The pattern must name a directory
// below the root, and captures must be label keys, each named once.
func Compile(text string) (*Pattern, error) {
	p := &Pattern{text: text}
	for part := range strings.SplitSeq(text, "/") {
		switch part {
		case "", ".":
			continue
		case "..":
			return nil, fmt.Errorf("the segment .. has no place in %q", text)
		}
		s, err := compileSegment(part)
		if err != nil {
			return nil, err
		}
		for _, n := range s.names {
			for _, seen := range p.names {
				if n == seen {
					return nil, fmt.Errorf("the capture {%s} stands twice in %q", n, text)
				}
			}
			p.names = append(p.names, n)
		}
		p.segments = append(p.segments, s)
	}
	if len(p.segments) == 0 {
		return nil, fmt.Errorf("%q names no directory below the root of the source", text)
	}
	return p, nil
}

func compileSegment(text string) (segment, error) {
	t, err := ParseTemplate(text)
	if err != nil {
		return segment{}, err
	}
	s := segment{name: text}
	var expr strings.Builder
	expr.WriteString("(?s)^")
	for _, p := range t.parts {
		if p.name == "" {
			if strings.Contains(p.text, "{") {
				return segment{}, fmt.Errorf("%q is no capture: alternation has no meaning in a path pattern", p.text)
			}
			expr.WriteString(regexp.QuoteMeta(p.text))
			continue
		}
		expr.WriteString("(.+)")
		s.names = append(s.names, p.name)
	}
	if len(s.names) > 0 {
		s.expr, err = regexp.Compile(expr.String() + "$")
	}
	return s, err
}

var nameExpr = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkName says why name cannot be a capture.
func checkName(name string) error {
	if name == "" {
		return errors.New("{} names no capture")
	}
	if !nameExpr.MatchString(name) {
		return fmt.Errorf("{%s} is no capture: a name has letters, digits and underscores and starts with no digit", name)
	}
	if msgs := validation.IsQualifiedName(name); len(msgs) > 0 {
		return fmt.Errorf("the capture {%s} cannot be the key of a label: %s", name, brief(msgs))
	}
	return nil
}

// String returns the pattern as it was compiled.
func (p *Pattern) String() string { return p.text }

// Names returns the captures in the order of the pattern.
func (p *Pattern) Names() []string { return p.names }

// Matches returns the directories of t that match, in byte order of their
// paths' segments, and those that match but whose captures are no label
// values. Only what may match is visited.
func (p *Pattern) Matches(t tree.Tree) ([]Match, []Reject) {
	m := matcher{pattern: p, raw: map[string]string{}}
	if root, ok := t.Lookup("."); ok {
		m.visit(root, p.segments)
	}
	return m.matches, m.rejects
}

type matcher struct {
	pattern *Pattern
	raw     map[string]string
	matches []Match
	rejects []Reject
}

// visit descends from the directory e by the segments that are left.
func (m *matcher) visit(e tree.Entry, rest []segment) {
	if len(rest) == 0 {
		m.found(e.Path)
		return
	}
	_ = e.Children(func(c tree.Entry) error { // the function never fails
		if !c.IsDir() {
			return nil
		}
		s, name := rest[0], path.Base(c.Path)
		if s.expr == nil {
			if name == s.name {
				m.visit(c, rest[1:])
			}
			return nil
		}
		if values := s.expr.FindStringSubmatch(name); values != nil {
			for i, n := range s.names {
				m.raw[n] = values[i+1]
			}
			m.visit(c, rest[1:])
		}
		return nil
	})
}

// found records the directory dir with the captures of the descent to it.
func (m *matcher) found(dir string) {
	out := Match{Dir: dir, Raw: make(map[string]string, len(m.raw)), Lower: make(map[string]string, len(m.raw))}
	for _, n := range m.pattern.names {
		raw := m.raw[n]
		lower := strings.ToLower(raw)
		if msgs := validation.IsValidLabelValue(lower); len(msgs) > 0 {
			m.rejects = append(m.rejects, Reject{Dir: dir, Err: fmt.Errorf(
				"%q cannot be the value of the label %s: %s", raw, n, brief(msgs))})
			return
		}
		out.Raw[n], out.Lower[n] = raw, lower
	}
	m.matches = append(m.matches, out)
}

// brief returns the first of Kubernetes' messages without its examples and
// regular expressions.
func brief(msgs []string) string {
	text, _, _ := strings.Cut(msgs[0], " (e.g. ")
	return text
}
