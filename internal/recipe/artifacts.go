package recipe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/expand"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/tree"
)

// Withheld is an artifact, or all that a directory would have become, that
// cannot be built from the sources as they are.
type Withheld struct {
	// Subject names it in messages.
	Subject string
	// Namespace and Name are those of the artifact, empty for a directory, of
	// which not even that is known.
	Namespace, Name string
	// Err says why, with a reason.
	Err error
}

// Artifacts returns what is to be built from the sources, in the order of the
// directories and of the spec, and what a path pattern found but cannot be.
func (r *Recipe) Artifacts(sources map[string]tree.Tree) ([]Artifact, []Withheld) {
	matches := []expand.Match{{}}
	var out []Withheld
	if r.pattern != nil {
		var rejects []expand.Reject
		matches, rejects = r.pattern.Matches(sources[r.patternAlias])
		for _, reject := range rejects {
			out = append(out, r.withhold(reject.Dir, reject.Err))
		}
	}
	var all []Artifact
	for _, m := range matches {
		made, err := r.render(m)
		if err != nil {
			out = append(out, r.withhold(m.Dir, err))
		}
		all = append(all, made...)
	}
	unique, collisions := r.separate(all)
	return unique, append(out, collisions...)
}

// render makes the artifacts of one directory. Those that cannot be are not
// among them, and in the error: they do not stop the others.
func (r *Recipe) render(m expand.Match) ([]Artifact, error) {
	out := make([]Artifact, 0, len(r.templates))
	var errs []error
	for i := range r.templates {
		a, err := r.templates[i].render(m)
		if err != nil {
			errs = append(errs, fmt.Errorf("spec.artifacts[%d].%w", i, err))
			continue
		}
		if a.Metadata, err = r.metadataFile.render(m); err != nil {
			return nil, fmt.Errorf("spec.managedNamespaces.metadata.fromSource.path: %w", err)
		}
		out = append(out, a)
	}
	return out, fail.Join(errs...)
}

func (r *Recipe) withhold(dir string, err error) Withheld {
	return Withheld{
		Subject: fmt.Sprintf("directory %q of pathPattern %q", dir, r.patternText),
		Err:     &fail.Error{Reason: v1beta1.ReasonBuildFailed, Class: fail.Stall, Err: err},
	}
}

// separate takes out the artifacts that share a name and namespace: which of
// them is meant, nobody can tell.
func (r *Recipe) separate(all []Artifact) ([]Artifact, []Withheld) {
	type key struct{ namespace, name string }
	dirs := make(map[key][]string, len(all))
	for _, a := range all {
		k := key{a.Namespace, a.Name}
		dirs[k] = append(dirs[k], a.Dir)
	}
	var unique []Artifact
	var collisions []Withheld
	for _, a := range all {
		k := key{a.Namespace, a.Name}
		switch n := len(dirs[k]); {
		case n == 1:
			unique = append(unique, a)
		case n > 1:
			collisions = append(collisions, Withheld{
				Subject: a.Namespace + "/" + a.Name, Namespace: a.Namespace, Name: a.Name,
				Err: fail.Stalled(v1beta1.ReasonBuildFailed,
					"pathPattern %q gives this name to %d artifacts, of %s; captures are lower-cased, and every directory needs a name of its own",
					r.patternText, n, quoteAll(dirs[k])),
			})
			dirs[k] = nil // reported
		}
	}
	return unique, collisions
}

func quoteAll(dirs []string) string {
	quoted := make([]string, 0, len(dirs))
	for _, d := range slices.Compact(slices.Sorted(slices.Values(dirs))) {
		quoted = append(quoted, fmt.Sprintf("%q", d))
	}
	return strings.Join(quoted, " and ")
}
