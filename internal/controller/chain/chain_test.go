package chain_test

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/chain"
	"github.com/weir-dev/weir/internal/fail"
)

// generator returns the generator of that name that makes artifacts of others,
// all given by their names: "a: x y < z" makes x and y of z.
func generator(text string) *v1beta1.ArtifactGenerator {
	name, rest, _ := strings.Cut(text, ":")
	makes, needs, _ := strings.Cut(rest, "<")
	g := &v1beta1.ArtifactGenerator{}
	g.Namespace, g.Name = "ns", name
	for _, n := range strings.Fields(makes) {
		a := v1beta1.Artifact{Name: n}
		if namespace, of, ok := strings.Cut(n, "/"); ok {
			a.Namespace, a.Name = namespace, of
		}
		g.Spec.Artifacts = append(g.Spec.Artifacts, a)
	}
	for _, n := range strings.Fields(needs) {
		s := v1beta1.Source{Alias: n, Kind: v1beta1.SourceExternalArtifact, Name: n}
		if kind, of, ok := strings.Cut(n, "="); ok {
			s.Kind, s.Name = v1beta1.SourceKind(kind), of
		}
		g.Spec.Sources = append(g.Spec.Sources, s)
	}
	return g
}

// artifact returns the ExternalArtifact of "name of generator", or of none.
func artifact(text string) *sourcev1.ExternalArtifact {
	name, of, _ := strings.Cut(text, " of ")
	o := &sourcev1.ExternalArtifact{}
	o.Namespace, o.Name = "ns", name
	if of == "" {
		return o
	}
	o.Spec.SourceRef = &meta.NamespacedObjectKindReference{Kind: v1beta1.KindArtifactGenerator, Name: of}
	return o
}

func cluster(t *testing.T, generators, artifacts []string) (client.Client, []*v1beta1.ArtifactGenerator) {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1beta1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := sourcev1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(s).WithIndex(&v1beta1.ArtifactGenerator{}, chain.Index, func(o client.Object) []string {
		return chain.Makes(o.(*v1beta1.ArtifactGenerator))
	})
	var all []*v1beta1.ArtifactGenerator
	for _, text := range generators {
		all = append(all, generator(text))
		b = b.WithObjects(all[len(all)-1])
	}
	for _, text := range artifacts {
		b = b.WithObjects(artifact(text))
	}
	return b.Build(), all
}

// The first generator of each case is looked at.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		generators, artifacts []string
		want                  string // the way around; empty when there is none
	}{
		"no sources":               {generators: []string{"a: x"}},
		"a chain":                  {generators: []string{"c: z < y", "b: y < x", "a: x < GitRepository=repo"}},
		"a chain that is there":    {generators: []string{"b: y < x", "a: x"}, artifacts: []string{"x of a", "y of b"}},
		"two ways to one source":   {generators: []string{"d: w < y z", "b: y < x", "c: z < x", "a: x"}},
		"the name of another kind": {generators: []string{"a: x < GitRepository=x"}},
		"nobody makes it":          {generators: []string{"a: x < y"}},
		"a cycle of others":        {generators: []string{"c: z < x", "a: x < y", "b: y < x"}},
		"itself": {
			generators: []string{"a: x < x"},
			want:       "ArtifactGenerator ns/a needs ExternalArtifact/ns/x of ArtifactGenerator ns/a",
		},
		"two that never built": {
			generators: []string{"a: x < y", "b: y < x"},
			want: "ArtifactGenerator ns/a needs ExternalArtifact/ns/y of ArtifactGenerator ns/b, " +
				"which needs ExternalArtifact/ns/x of ArtifactGenerator ns/a",
		},
		"three, of a pattern": { // whose names only the artifacts tell
			generators: []string{"a: x < y-one", "b: y-{app} < z", "c: z < x"},
			artifacts:  []string{"y-one of b"},
			want: "ArtifactGenerator ns/a needs ExternalArtifact/ns/y-one of ArtifactGenerator ns/b, " +
				"which needs ExternalArtifact/ns/z of ArtifactGenerator ns/c, which needs ExternalArtifact/ns/x of ArtifactGenerator ns/a",
		},
		"a namespace that is spelled out": {
			generators: []string{"a: ns/x < y", "b: y < x"},
			want: "ArtifactGenerator ns/a needs ExternalArtifact/ns/y of ArtifactGenerator ns/b, " +
				"which needs ExternalArtifact/ns/x of ArtifactGenerator ns/a",
		},
		"another namespace": {generators: []string{"a: other/x < y", "b: y < x"}},
		// Anyone may write a spec that claims y and needs x.
		"a claim on what is another's": {
			generators: []string{"a: x < y", "b: y", "evil: y < x"},
			artifacts:  []string{"y of b"},
		},
		"a claim on what was another's": {
			generators: []string{"a: x < y", "b: y < x"},
			artifacts:  []string{"y of gone"},
		},
		"a claim on what no generator makes": {
			generators: []string{"a: x < y", "b: y < x"},
			artifacts:  []string{"y"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, all := cluster(t, c.generators, c.artifacts)
			err := chain.Check(t.Context(), client, all[0])
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := fail.As(err)
			if !ok || e.Reason != v1beta1.ReasonValidationFailed || e.Class != fail.Stall || e.After == 0 {
				t.Fatalf("error %#v", err)
			}
			if diff := cmp.Diff("spec.sources: a cycle: "+c.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
