package artifactgenerator

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// draft is what is to become of the artifacts.
type draft struct {
	// publish are built and to be published.
	publish []build.Artifact
	// keep are those of the inventory that could not be built: they stay as they
	// are.
	keep []v1beta1.InventoryEntry
	// prune are those of the inventory that nothing names any more.
	prune []v1beta1.InventoryEntry
}

// build makes the artifacts out of the trees, and plans.
func (r *run) build(ctx context.Context) error {
	result, err := build.Build(ctx, r.recipe, r.sources, r.Build)
	if err != nil {
		return fmt.Errorf("building: %w", err)
	}
	r.failures = result.Failures
	r.plan = decide(r.generator.Status.Inventory, result)
	if r.generator.Spec.PathPattern != "" && !r.pass.Settled && !isForced(r.generator) {
		return r.plan.guard(r.generator.Spec.PathPattern, r.failures)
	}
	return nil
}

// decide compares what was with what was built. It is pure.
func decide(inventory []v1beta1.InventoryEntry, result *build.Result) draft {
	p := draft{publish: result.Artifacts}
	built := make(map[object.Key]bool, len(result.Artifacts))
	for _, a := range result.Artifacts {
		built[external.KeyOf(a.Namespace, a.Name)] = true
	}
	failed := make(map[string]bool, len(result.Failures))
	for _, f := range result.Failures {
		failed[f.Subject] = true
	}
	for _, e := range inventory {
		switch {
		case !e.IsArtifact(), failed[e.Namespace+"/"+e.Name]:
			p.keep = append(p.keep, e)
		case !built[keyOf(e)]:
			p.prune = append(p.prune, e)
		}
	}
	return p
}

func isForced(g *v1beta1.ArtifactGenerator) bool {
	return strings.EqualFold(g.Annotations[v1beta1.AnnotationPrune], v1beta1.ValueForce)
}

// guard refuses to prune everything after a change of the spec: a slip in a
// path pattern must not delete what runs.
func (p *draft) guard(pattern string, failures []build.Failure) error {
	if len(p.publish)+len(p.keep)+len(failures) > 0 || len(p.prune) == 0 {
		return nil
	}
	return fail.Stalled(v1beta1.ReasonBuildFailed,
		"pathPattern %q matches no directory since the spec changed, and %s would be deleted; annotate the generator with %s: %s if that is meant",
		pattern, some(len(p.prune), "artifact", func(i int) string { return p.prune[i].Namespace + "/" + p.prune[i].Name }),
		v1beta1.AnnotationPrune, v1beta1.ValueForce)
}

// some counts things and names the first three of them.
func some(n int, what string, name func(int) string) string {
	const most = 3
	var names []string
	for i := range min(n, most) {
		names = append(names, name(i))
	}
	if n > most {
		names = append(names, fmt.Sprintf("and %d more", n-most))
	}
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s (%s)", n, what, strings.Join(names, ", "))
}

// news reports whether the plan changes what the inventory says, so that it has
// to be recorded before it is done.
func (p *draft) news(inventory []v1beta1.InventoryEntry) bool {
	has := make(map[object.Key]string, len(inventory))
	for _, e := range inventory {
		has[keyOf(e)] = e.Digest
	}
	for _, a := range p.publish {
		if has[external.KeyOf(a.Namespace, a.Name)] != digestOf(a) {
			return true
		}
	}
	return len(p.prune) > 0
}

// ahead returns the inventory with the artifacts that are new, each where it
// will be in the end.
func (p *draft) ahead(inventory []v1beta1.InventoryEntry) []v1beta1.InventoryEntry {
	has := make(map[object.Key]bool, len(inventory))
	for _, e := range inventory {
		has[keyOf(e)] = true
	}
	out := append([]v1beta1.InventoryEntry(nil), inventory...)
	for _, a := range p.publish {
		if !has[external.KeyOf(a.Namespace, a.Name)] {
			out = append(out, entryOf(a))
		}
	}
	return out
}

func keyOf(e v1beta1.InventoryEntry) object.Key {
	if !e.IsArtifact() {
		return object.Key{Kind: string(e.Kind), Name: e.Name}
	}
	return external.KeyOf(e.Namespace, e.Name)
}

func digestOf(a build.Artifact) string { return "sha256:" + a.Content.String() }

func entryOf(a build.Artifact) v1beta1.InventoryEntry {
	file := store.Path(nameOf(a), a.Content)
	return v1beta1.InventoryEntry{
		Kind: v1beta1.InventoryArtifact, Namespace: a.Namespace, Name: a.Name,
		Digest: digestOf(a), Filename: file[strings.LastIndexByte(file, '/')+1:],
	}
}
