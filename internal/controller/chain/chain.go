// Package chain knows which generators are made of what others make. It reads
// generators and ExternalArtifacts, and changes nothing.
package chain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/source"
	"github.com/weir-dev/weir/internal/fail"
)

// Index is the index of generators by [Makes], which a reader must have.
const Index = ".spec.artifacts"

// wait is how soon a cycle is looked for again: what breaks it may be a change
// of another generator, of which this one hears nothing.
const wait = time.Minute

// Makes returns the names of the ExternalArtifacts that the spec of a generator
// says it makes, as namespace/name. Names with captures are known only once
// there is a source.
func Makes(g *v1beta1.ArtifactGenerator) []string {
	var out []string
	for _, a := range g.Spec.Artifacts {
		namespace := a.Namespace
		if namespace == "" {
			namespace = g.Namespace
		}
		if !strings.ContainsAny(namespace+a.Name, "{}") {
			out = append(out, namespace+"/"+a.Name)
		}
	}
	return out
}

// link is a generator on the way from another, by the artifact that it makes.
type link struct {
	generator *v1beta1.ArtifactGenerator
	artifact  source.Ref
	from      *link
}

// Check refuses a generator that is made of its own artifacts, by however many
// others in between: every build would ask for the next one, and if none of the
// artifacts is there yet, none ever will be.
func Check(ctx context.Context, c client.Reader, g *v1beta1.ArtifactGenerator) error {
	self := client.ObjectKeyFromObject(g)
	seen := map[types.NamespacedName]bool{}
	todo := []*link{{generator: g}}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for _, ref := range needs(at.generator) {
			makers, err := Makers(ctx, c, ref)
			if err != nil {
				return err
			}
			for _, maker := range makers {
				key := client.ObjectKeyFromObject(maker)
				next := &link{maker, ref, at}
				if key == self {
					return &fail.Error{
						Reason: v1beta1.ReasonValidationFailed, Class: fail.Stall, After: wait,
						Err: fmt.Errorf("spec.sources: a cycle: %s", next),
					}
				}
				if !seen[key] {
					seen[key] = true
					todo = append(todo, next)
				}
			}
		}
	}
	return nil
}

// String returns the way to the link, such as "ArtifactGenerator ns/a needs
// ExternalArtifact/ns/x of ArtifactGenerator ns/b, which needs …".
func (l *link) String() string {
	name := "ArtifactGenerator " + client.ObjectKeyFromObject(l.generator).String()
	if l.from == nil {
		return name
	}
	which := " needs "
	if l.from.from != nil {
		which = ", which needs "
	}
	return fmt.Sprintf("%s%s%s of %s", l.from, which, l.artifact, name)
}

// needs returns the ExternalArtifacts that a generator is made of.
func needs(g *v1beta1.ArtifactGenerator) []source.Ref {
	var out []source.Ref
	for _, s := range g.Spec.Sources {
		if s.Kind == v1beta1.SourceExternalArtifact {
			out = append(out, source.RefOf(s, g.Namespace))
		}
	}
	return out
}

// Makers returns the generator that made an ExternalArtifact, or those that say
// they will while it is not there, sorted. What somebody only says about one that
// is there does not count, or anyone could stop those who use it.
func Makers(ctx context.Context, c client.Reader, ref source.Ref) ([]*v1beta1.ArtifactGenerator, error) {
	o := &sourcev1.ExternalArtifact{}
	err := c.Get(ctx, ref.NamespacedName, o)
	if err == nil {
		return owner(ctx, c, o)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	var list v1beta1.ArtifactGeneratorList
	if err := c.List(ctx, &list, client.MatchingFields{Index: ref.NamespacedName.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the generators that make %s: %w", ref, err)
	}
	out := make([]*v1beta1.ArtifactGenerator, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	slices.SortFunc(out, func(a, b *v1beta1.ArtifactGenerator) int {
		return strings.Compare(client.ObjectKeyFromObject(a).String(), client.ObjectKeyFromObject(b).String())
	})
	return out, nil
}

// owner returns the generator of an ExternalArtifact, none when that is nobody
// who is there.
func owner(ctx context.Context, c client.Reader, o *sourcev1.ExternalArtifact) ([]*v1beta1.ArtifactGenerator, error) {
	own, ok := external.OwnerOf(o)
	if !ok {
		return nil, nil
	}
	g := &v1beta1.ArtifactGenerator{}
	if err := c.Get(ctx, types.NamespacedName(own), g); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("reading the generator of ExternalArtifact %s/%s: %w", o.Namespace, o.Name, err)
	}
	return []*v1beta1.ArtifactGenerator{g}, nil
}
