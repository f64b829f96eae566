package recipe

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/compose"
	"github.com/weir-dev/weir/internal/expand"
)

var aliasExpr = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)

// Ref is a file of a source, or of the artifact itself when Alias is
// [v1beta1.ArtifactAlias].
type Ref struct{ Alias, Path string }

// String returns the reference as a spec has it.
func (r Ref) String() string { return "@" + r.Alias + "/" + r.Path }

// Artifact is one artifact to build, with all placeholders rendered.
type Artifact struct {
	Name, Namespace string
	// Dir is the directory that the path pattern matched, empty without one.
	Dir string
	// Captures are what the pattern captured, in lower case.
	Captures map[string]string
	// Copy are the operations that make the content.
	Copy []compose.Op
	// Revision and OriginRevision are aliases, or empty.
	Revision, OriginRevision string
	// Inputs is the file whose content is exported, nil for none.
	Inputs *Ref
	// Metadata is the file that sets the namespace's metadata, nil for none.
	Metadata *Ref
}

// template is an artifact of the spec. Without a path pattern its templates
// have no placeholders.
type template struct {
	name, namespace          expand.Template
	copy                     []copyTemplate
	inputs                   *refTemplate
	revision, originRevision string
}

type copyTemplate struct {
	spec     v1beta1.Copy
	from, to expand.Template
}

type refTemplate struct {
	alias string
	path  expand.Template
}

// compileTemplate checks one artifact. With a path pattern that is done on
// captures of one letter: whatever is wrong then is wrong for every directory.
func (r *Recipe) compileTemplate(a v1beta1.Artifact) (template, error) {
	t := template{revision: strings.TrimPrefix(a.Revision, "@"), originRevision: strings.TrimPrefix(a.OriginRevision, "@")}
	var err error
	if t.name, err = r.parse(a.Name); err != nil {
		return t, fmt.Errorf("name: %w", err)
	}
	if t.namespace, err = r.parse(a.Namespace); err != nil {
		return t, fmt.Errorf("namespace: %w", err)
	}
	if err := r.checkRevision(a.Revision); err != nil {
		return t, fmt.Errorf("revision: %w", err)
	}
	if err := r.checkRevision(a.OriginRevision); err != nil {
		return t, fmt.Errorf("originRevision: %w", err)
	}
	if a.InputsFrom != "" {
		if t.inputs, err = r.compileRef(a.InputsFrom, true); err != nil {
			return t, fmt.Errorf("inputsFrom: %w", err)
		}
	}
	if len(a.Copy) == 0 {
		return t, errors.New("copy: want at least one operation")
	}
	for i, c := range a.Copy {
		ct, err := r.compileCopy(c)
		if err != nil {
			return t, fmt.Errorf("copy[%d].%w", i, err)
		}
		t.copy = append(t.copy, ct)
	}
	_, err = t.render(r.sample())
	return t, err
}

// sample is a match that every template must render with.
func (r *Recipe) sample() expand.Match {
	m := expand.Match{Raw: map[string]string{}, Lower: map[string]string{}}
	if r.pattern != nil {
		for _, name := range r.pattern.Names() {
			m.Raw[name], m.Lower[name] = "x", "x"
		}
	}
	return m
}

func (r *Recipe) compileCopy(c v1beta1.Copy) (copyTemplate, error) {
	from, err := r.parse(c.From)
	if err != nil {
		return copyTemplate{}, fmt.Errorf("from: %w", err)
	}
	if _, _, err := r.splitRef(c.From); err != nil {
		return copyTemplate{}, fmt.Errorf("from: %w", err)
	}
	to, err := r.parse(c.To)
	if err != nil {
		return copyTemplate{}, fmt.Errorf("to: %w", err)
	}
	return copyTemplate{spec: c, from: from, to: to}, nil
}

// parse parses a field that may hold placeholders when there is a path
// pattern, and is literal text when there is none.
func (r *Recipe) parse(text string) (expand.Template, error) {
	if r.pattern == nil {
		return expand.Literal(text), nil
	}
	t, err := expand.ParseTemplate(text)
	if err != nil {
		return t, err
	}
	for _, name := range t.Names() {
		if !slices.Contains(r.pattern.Names(), name) {
			return t, fmt.Errorf("{%s} is not captured by spec.pathPattern %q", name, r.patternText)
		}
	}
	return t, nil
}

// splitRef splits @alias/path and checks that a source has the alias.
func (r *Recipe) splitRef(ref string) (alias, rest string, err error) {
	if alias, rest, err = compose.SplitRef(ref); err != nil {
		return "", "", err
	}
	return alias, rest, r.checkAlias(alias)
}

func (r *Recipe) checkAlias(alias string) error {
	if _, ok := r.Sources[alias]; !ok {
		return fmt.Errorf("no source has the alias %q; there are %s", alias, strings.Join(r.Aliases(), ", "))
	}
	return nil
}

func (r *Recipe) checkRevision(ref string) error {
	if ref == "" {
		return nil
	}
	alias, ok := strings.CutPrefix(ref, "@")
	if !ok {
		return fmt.Errorf("%q has not the form @alias", ref)
	}
	return r.checkAlias(alias)
}

// compileRef checks a reference to one file.
func (r *Recipe) compileRef(ref string, artifact bool) (*refTemplate, error) {
	alias, rest, err := compose.SplitRef(ref)
	if err != nil {
		return nil, err
	}
	if !artifact || alias != v1beta1.ArtifactAlias {
		if err := r.checkAlias(alias); err != nil {
			return nil, err
		}
	}
	if r.pattern == nil && strings.ContainsAny(rest, "{}") {
		return nil, fmt.Errorf("%q has a placeholder, but there is no spec.pathPattern to capture it", ref)
	}
	path, err := r.parse(rest)
	if err != nil {
		return nil, err
	}
	t := &refTemplate{alias: alias, path: path}
	_, err = t.render(r.sample())
	return t, err
}

func (t *refTemplate) render(m expand.Match) (*Ref, error) {
	if t == nil {
		return nil, nil
	}
	rest := t.path.Render(m.Raw)
	clean, err := compose.Local(rest)
	if err != nil {
		return nil, err
	}
	if clean == "." {
		return nil, fmt.Errorf("%q names no file", Ref{t.alias, rest})
	}
	return &Ref{Alias: t.alias, Path: clean}, nil
}

// render makes the artifact of one match. Errors name the field.
func (t *template) render(m expand.Match) (Artifact, error) {
	a := Artifact{
		Name: t.name.Render(m.Lower), Namespace: t.namespace.Render(m.Lower),
		Dir: m.Dir, Captures: m.Lower, Revision: t.revision, OriginRevision: t.originRevision,
	}
	if msgs := validation.IsDNS1123Subdomain(a.Name); len(msgs) > 0 {
		return a, fmt.Errorf("name: %q: %s", a.Name, brief(msgs))
	}
	if msgs := validation.IsDNS1123Label(a.Namespace); len(msgs) > 0 {
		return a, fmt.Errorf("namespace: %q: %s", a.Namespace, brief(msgs))
	}
	var err error
	if a.Inputs, err = t.inputs.render(m); err != nil {
		return a, fmt.Errorf("inputsFrom: %w", err)
	}
	for i, c := range t.copy {
		spec := c.spec
		spec.From, spec.To = c.from.Render(m.Raw), c.to.Render(m.Raw)
		op, err := compose.Parse(spec)
		if err != nil {
			return a, fmt.Errorf("copy[%d].%w", i, err)
		}
		a.Copy = append(a.Copy, op)
	}
	return a, nil
}

// brief returns the first of Kubernetes' messages without its examples and
// regular expressions.
func brief(msgs []string) string {
	text, _, _ := strings.Cut(msgs[0], " (e.g. ")
	return text
}
