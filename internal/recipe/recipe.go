// Package recipe is an ArtifactGenerator that was found to be sound: its
// references parsed, its patterns and expressions compiled. It reads no source:
// what is wrong with a spec is known before anything is fetched.
package recipe

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/expand"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/metadata"
	"github.com/weir-dev/weir/internal/namespace"
)

// Options are what the platform decides for all generators.
type Options struct {
	// NoCrossNamespaceRefs refuses sources of other namespaces.
	NoCrossNamespaceRefs bool
	// DefaultServiceAccount authorises what a generator without a
	// ServiceAccount does in other namespaces. Empty: there is none.
	DefaultServiceAccount string
}

// Recipe is a compiled spec. It does not change; concurrent use is safe.
type Recipe struct {
	// Name and Namespace are those of the generator.
	Name, Namespace string
	// Sources are the sources by alias, with their namespaces filled in.
	Sources map[string]v1beta1.Source
	// Common is spec.commonMetadata.
	Common metadata.Set
	// Managed is spec.managedNamespaces, nil when namespaces are not managed.
	Managed *namespace.Policy

	pattern      *expand.Pattern // nil without spec.pathPattern
	patternAlias string
	patternText  string
	templates    []template
	metadataFile *refTemplate // of managedNamespaces, nil without fromSource
}

// Compile checks a generator and compiles it. All errors are of class
// [fail.Stall]: only a change of the spec, or of the options, can mend them.
func Compile(g *v1beta1.ArtifactGenerator, o Options) (*Recipe, error) {
	r := &Recipe{Name: g.Name, Namespace: g.Namespace, Common: metadata.Of(g.Spec.CommonMetadata)}
	for _, step := range []func(*v1beta1.ArtifactGenerator, Options) error{
		r.compileSources, r.compilePattern, r.compileMetadata, r.compileArtifacts, r.compileNamespaces,
	} {
		if err := step(g, o); err != nil {
			if e, ok := fail.As(err); ok {
				return nil, e
			}
			return nil, &fail.Error{Reason: v1beta1.ReasonValidationFailed, Class: fail.Stall, Err: err}
		}
	}
	return r, nil
}

func (r *Recipe) compileSources(g *v1beta1.ArtifactGenerator, o Options) error {
	if len(g.Spec.Sources) == 0 {
		return errors.New("spec.sources: want at least one source")
	}
	r.Sources = make(map[string]v1beta1.Source, len(g.Spec.Sources))
	for i, s := range g.Spec.Sources {
		if err := checkSource(s); err != nil {
			return fmt.Errorf("spec.sources[%d].%w", i, err)
		}
		if _, seen := r.Sources[s.Alias]; seen {
			return fmt.Errorf("spec.sources[%d].alias: %q stands twice; give every source an alias of its own", i, s.Alias)
		}
		if s.Namespace == "" {
			s.Namespace = g.Namespace
		}
		if o.NoCrossNamespaceRefs && s.Namespace != g.Namespace {
			return fail.Stalled(v1beta1.ReasonAccessDenied,
				"spec.sources[%d].namespace: %s %s/%s lies in another namespace, and references across namespaces are disabled",
				i, s.Kind, s.Namespace, s.Name)
		}
		r.Sources[s.Alias] = s
	}
	return nil
}

func (r *Recipe) compilePattern(g *v1beta1.ArtifactGenerator, _ Options) error {
	r.patternText = g.Spec.PathPattern
	if r.patternText == "" {
		return nil
	}
	alias, rest, err := r.splitRef(r.patternText)
	if err != nil {
		return fmt.Errorf("spec.pathPattern: %w", err)
	}
	r.patternAlias = alias
	if r.pattern, err = expand.Compile(rest); err != nil {
		return fmt.Errorf("spec.pathPattern: %w", err)
	}
	return nil
}

func (r *Recipe) compileMetadata(*v1beta1.ArtifactGenerator, Options) error {
	if err := r.Common.Check(); err != nil {
		return fmt.Errorf("spec.commonMetadata.%w", err)
	}
	return nil
}

func (r *Recipe) compileArtifacts(g *v1beta1.ArtifactGenerator, _ Options) error {
	if len(g.Spec.Artifacts) == 0 {
		return errors.New("spec.artifacts: want at least one artifact")
	}
	seen := map[[2]string]bool{}
	for i, a := range g.Spec.Artifacts {
		if a.Namespace == "" {
			a.Namespace = g.Namespace
		}
		key := [2]string{a.Namespace, a.Name}
		if seen[key] {
			return fmt.Errorf("spec.artifacts[%d].name: %q stands twice for the namespace %q", i, a.Name, a.Namespace)
		}
		seen[key] = true
		t, err := r.compileTemplate(a)
		if err != nil {
			return fmt.Errorf("spec.artifacts[%d].%w", i, err)
		}
		r.templates = append(r.templates, t)
	}
	return nil
}

func (r *Recipe) compileNamespaces(g *v1beta1.ArtifactGenerator, o Options) error {
	m := g.Spec.ManagedNamespaces
	if m == nil {
		return nil
	}
	if g.Spec.ServiceAccountName == "" && o.DefaultServiceAccount == "" {
		return errors.New("spec.serviceAccountName: managing namespaces needs a ServiceAccount that authorises it; set it here or as the controller's default")
	}
	var err error
	if r.Managed, err = namespace.Compile(m, r.Common); err != nil {
		return fmt.Errorf("spec.managedNamespaces.%w", err)
	}
	if m.Metadata == nil || m.Metadata.FromSource == nil {
		return nil
	}
	if r.metadataFile, err = r.compileRef(m.Metadata.FromSource.Path, false); err == nil {
		err = r.checkMetadataFile()
	}
	if err != nil {
		return fmt.Errorf("spec.managedNamespaces.metadata.fromSource.path: %w", err)
	}
	return nil
}

// checkMetadataFile holds that all artifacts of a namespace name one file: its
// path may use only captures that also determine the namespace. The
// generator's own namespace is never managed and needs no file.
func (r *Recipe) checkMetadataFile() error {
	used := r.metadataFile.path.Names()
	for i, t := range r.templates {
		known := t.namespace.Names()
		if len(known) == 0 && t.namespace.Render(nil) == r.Namespace {
			continue
		}
		for _, name := range used {
			if !slices.Contains(known, name) {
				return fmt.Errorf("{%s} does not determine a namespace: the namespace of spec.artifacts[%d] is made of %s",
					name, i, orNothing(known))
			}
		}
	}
	return nil
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "no captures"
	}
	return "{" + strings.Join(names, "}, {") + "}"
}

func checkSource(s v1beta1.Source) error {
	switch s.Kind {
	case v1beta1.SourceGitRepository, v1beta1.SourceOCIRepository, v1beta1.SourceBucket,
		v1beta1.SourceHelmChart, v1beta1.SourceExternalArtifact:
	default:
		return fmt.Errorf("kind: %q is none of GitRepository, OCIRepository, Bucket, HelmChart and ExternalArtifact", s.Kind)
	}
	if !aliasExpr.MatchString(s.Alias) {
		return fmt.Errorf("alias: %q may only hold letters, digits, dashes and underscores", s.Alias)
	}
	if msgs := validation.IsDNS1123Subdomain(s.Name); len(msgs) > 0 {
		return fmt.Errorf("name: %q: %s", s.Name, brief(msgs))
	}
	if s.Namespace != "" {
		if msgs := validation.IsDNS1123Label(s.Namespace); len(msgs) > 0 {
			return fmt.Errorf("namespace: %q: %s", s.Namespace, brief(msgs))
		}
	}
	return nil
}

// Aliases returns the aliases of the sources, sorted.
func (r *Recipe) Aliases() []string { return slices.Sorted(maps.Keys(r.Sources)) }
