package protect_test

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Objects are not attributed to an ArtifactGenerator by others: they would be
// pruned with it.
func TestWhoMayAttribute(t *testing.T) {
	s := newStage(t)
	s.glass(t)
	const generator, manager = "source.extensions.fluxcd.io/generator", "app.kubernetes.io/managed-by"
	alice := s.user("alice")
	for name, c := range map[string]struct {
		who     client.Client
		before  []edit
		step    []edit
		refused bool
	}{
		"attribute":                    {who: alice, step: []edit{label(generator, "u")}, refused: true},
		"to another":                   {who: alice, before: []edit{label(generator, "u")}, step: []edit{label(generator, "v")}, refused: true},
		"to another program":           {who: alice, before: []edit{label(generator, "u"), label(manager, "m")}, step: []edit{label(manager, "x")}, refused: true},
		"take off":                     {who: alice, before: []edit{label(generator, "u"), label(manager, "m")}, step: []edit{unlabel(generator)}},
		"name the program":             {who: alice, step: []edit{label(manager, "helm")}},
		"another label":                {who: alice, before: []edit{label(generator, "u"), label(manager, "m")}, step: []edit{label("mine", "1")}},
		"cluster-admin":                {who: s.user("root"), step: []edit{label(generator, "u")}, refused: true},
		"who holds the verb":           {who: s.as(t, "alice", nil, "weir:break-glass"), step: []edit{label(generator, "u")}},
		"the controller":               {who: s.user(controller), step: []edit{label(generator, "u"), label(manager, "m")}},
		"the controller as an account": {who: s.as(t, worker, &local), step: []edit{label(generator, "u")}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := object(t, `{apiVersion: v1, kind: Namespace, metadata: {generateName: attribution-}}`)
			for _, e := range c.before {
				e(o)
			}
			if err := s.user(controller).Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.admin.Delete(context.Background(), o) })
			for _, e := range c.step {
				e(o)
			}
			verdict(t, c.who.Update(t.Context(), o), c.refused)
		})
	}
}
