// Package compose makes one tree out of others by a list of copy operations.
// It works on trees in memory, reads only the files that it merges or unpacks,
// and knows neither where trees come from nor what becomes of the result.
package compose

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/glob"
)

// MaxPath is the length in bytes that a path or pattern of an operation may
// have.
const MaxPath = 1024

// Op is one copy operation, parsed and with its patterns compiled.
type Op struct {
	alias    string
	from     string // as written, for messages
	literal  string // clean path in the source; unused when glob is set
	glob     *glob.Pattern
	to       string // clean path in the artifact, "." for its root
	into     bool   // to ends in a slash: it is a directory
	excludes *glob.Excludes
	filters  bool // there are excludes
	strategy v1beta1.CopyStrategy
	optional bool
}

// Alias returns the alias of the source that the operation reads.
func (o Op) Alias() string { return o.alias }

var refExpr = regexp.MustCompile(`^@([A-Za-z0-9_-]+)/((?s).*)$`)

// SplitRef splits a reference of the form @alias/path. The path may be empty.
func SplitRef(ref string) (alias, rest string, err error) {
	m := refExpr.FindStringSubmatch(ref)
	if m == nil {
		return "", "", fmt.Errorf("%q has not the form @alias/path", ref)
	}
	if len(ref) > MaxPath {
		return "", "", fmt.Errorf("%.40q… is longer than %d bytes", ref, MaxPath)
	}
	return m[1], m[2], nil
}

// Parse checks and compiles a copy operation, whose placeholders were
// rendered. Errors name the field.
func Parse(c v1beta1.Copy) (Op, error) {
	op := Op{from: c.From, strategy: c.Strategy, optional: c.Optional, filters: len(c.Exclude) > 0}
	if err := op.parseFrom(c.From); err != nil {
		return Op{}, fmt.Errorf("from: %w", err)
	}
	if err := op.parseTo(c.To); err != nil {
		return Op{}, fmt.Errorf("to: %w", err)
	}
	var err error
	if op.excludes, err = glob.CompileExcludes(c.Exclude); err != nil {
		return Op{}, err
	}
	switch c.Strategy {
	case "":
		op.strategy = v1beta1.CopyOverwrite
	case v1beta1.CopyOverwrite, v1beta1.CopyMerge, v1beta1.CopyExtract:
	default:
		return Op{}, fmt.Errorf("strategy: %q is none of Overwrite, Merge and Extract", c.Strategy)
	}
	return op, nil
}

func (o *Op) parseFrom(from string) error {
	alias, rest, err := SplitRef(from)
	if err != nil {
		return err
	}
	o.alias = alias
	if !glob.HasMeta(rest) {
		o.literal, err = Local(rest)
		return err
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == ".." {
			return fmt.Errorf("the segment .. of %q leaves the source", from)
		}
	}
	if o.glob, err = glob.Compile(rest); err != nil {
		return err
	}
	return nil
}

func (o *Op) parseTo(to string) error {
	rest, ok := strings.CutPrefix(to, "@artifact/")
	if !ok {
		return fmt.Errorf("%q has not the form @artifact/path", to)
	}
	if len(to) > MaxPath {
		return fmt.Errorf("%.40q… is longer than %d bytes", to, MaxPath)
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == ".." {
			return fmt.Errorf("the segment .. of %q leaves the artifact", to)
		}
	}
	o.into = rest == "" || strings.HasSuffix(rest, "/")
	var err error
	o.to, err = Local(rest)
	return err
}

// Local cleans a path and checks that it stays inside its root, which is ".".
func Local(p string) (string, error) {
	clean := path.Clean("./" + p)
	if strings.HasPrefix(p, "/") || !fs.ValidPath(clean) {
		return "", fmt.Errorf("the path escapes: %q is not inside its root", p)
	}
	return clean, nil
}
