package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const hash = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// shop is a picture in which everything is done.
func shop() picture {
	ready := state{Ready: true, Message: "done"}
	return picture{Generators: []generator{{
		Name: "apps/shop", state: ready,
		Sources: []source{{Kind: "GitRepository", Name: "monorepo", Revision: "main@sha1:0123456789abcdef0123", state: ready}},
		Artifacts: []artifact{{
			Name: "frontend", Revision: "latest@" + hash, Size: 335, Origin: "main@sha1:0123456789abcdef0123", state: ready,
			Applied: []kustomization{{
				Name: "frontend", Revision: "latest@" + hash, state: ready,
				Objects: []object{{Kind: "Deployment", Name: "shop/frontend", About: "replicas 2"}},
			}},
		}},
	}}}
}

func TestDone(t *testing.T) {
	for name, change := range map[string]func(*generator){
		"the generator is not ready":      func(g *generator) { g.Ready = false },
		"there is no artifact":            func(g *generator) { g.Artifacts = nil },
		"an artifact is not ready":        func(g *generator) { g.Artifacts[0].Ready = false },
		"a Kustomization is not ready":    func(g *generator) { g.Artifacts[0].Applied[0].Ready = false },
		"a Kustomization applied another": func(g *generator) { g.Artifacts[0].Applied[0].Revision = "latest@sha256:00" },
	} {
		p := shop()
		change(&p.Generators[0])
		if p.done() {
			t.Errorf("it is done although %s", name)
		}
	}
	if !shop().done() || (picture{}).done() {
		t.Error("want done what is, and not what is empty")
	}
}

func TestDraw(t *testing.T) {
	var out strings.Builder
	p := shop()
	p.Generators[0].Artifacts[0].Applied[0].Revision = "latest@sha256:00"
	p.Generators[0].Artifacts[0].Applied[0].state = state{Message: "applying"}
	Pen{}.draw(&out, p)
	want := `✓ ArtifactGenerator apps/shop                   done
  from ✓ GitRepository monorepo                 main@sha1:0123456789ab
  made ✓ ExternalArtifact frontend              latest@sha256:0123456789ab       335 bytes, of main@sha1:0123456789ab
       … Kustomization frontend                 applying
           Deployment shop/frontend             replicas 2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("Draw (-want +got):\n%s", diff)
	}
	out.Reset()
	Pen{Colours: true}.draw(&out, shop())
	if !strings.Contains(out.String(), "\x1b[32m✓\x1b[0m") {
		t.Errorf("there is no colour in %q", &out)
	}
}

func TestNewsIsMarked(t *testing.T) {
	var seen memory
	start := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		after    time.Duration
		revision string
		fresh    bool
	}{
		{0, "latest@sha256:1", false}, // it is all news, so none is
		{time.Second, "latest@sha256:1", false},
		{2 * time.Second, "latest@sha256:2", true},
		{freshFor, "latest@sha256:2", true},
		{3*time.Second + freshFor, "latest@sha256:2", false},
	} {
		p := shop()
		p.Generators[0].Artifacts[0].Revision = step.revision
		if p = seen.refresh(p, start.Add(step.after)); p.Generators[0].Artifacts[0].Fresh != step.fresh {
			t.Errorf("after %v %s is fresh: %t, want %t", step.after, step.revision, !step.fresh, step.fresh)
		}
	}
}
