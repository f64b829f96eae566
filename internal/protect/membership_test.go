package protect_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const tenantLabel = "capsule.clastix.io/tenant"

func ownedBy(apiVersion, name string) edit {
	return func(o *unstructured.Unstructured) {
		ref := map[string]any{"apiVersion": apiVersion, "kind": "Tenant", "name": name, "uid": "u"}
		o.Object["metadata"].(map[string]any)["ownerReferences"] = []any{ref}
	}
}

func disowned(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) }

// Who may put a namespace into a tenant, or take it out.
func TestMembership(t *testing.T) {
	s := newStage(t)
	s.createBlock(t, "join")
	s.grantUser(t, "join-solar", "olga")
	olga, alice, ours := s.user("olga"), s.user("alice"), s.user(controller)
	s.awaitPass(t, olga, object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: probe, labels: {capsule.clastix.io/tenant: solar}}}`))

	solar, oil := label(tenantLabel, "solar"), label(tenantLabel, "oil")
	for name, c := range map[string]struct {
		who     client.Client
		before  []edit
		step    []edit
		refused bool
	}{
		"without the right":                  {who: alice, step: []edit{solar}, refused: true},
		"with the right":                     {who: olga, step: []edit{solar}},
		"with the right on another tenant":   {who: olga, step: []edit{oil}, refused: true},
		"cluster-admin":                      {who: s.user("root"), step: []edit{oil}},
		"the controller":                     {who: ours, step: []edit{oil}},
		"Capsule":                            {who: s.user(capsule), step: []edit{oil}},
		"leave without the right":            {who: alice, before: []edit{solar}, step: []edit{unlabel(tenantLabel)}, refused: true},
		"leave with the right":               {who: olga, before: []edit{solar}, step: []edit{unlabel(tenantLabel)}},
		"steal":                              {who: olga, before: []edit{oil}, step: []edit{solar}, refused: true},
		"give away":                          {who: olga, before: []edit{solar}, step: []edit{oil}, refused: true},
		"by owner reference, without":        {who: alice, step: []edit{ownedBy("capsule.clastix.io/v1beta2", "solar")}, refused: true},
		"by owner reference of some version": {who: alice, step: []edit{ownedBy("capsule.clastix.io/v1", "solar")}, refused: true},
		"by owner reference, with":           {who: olga, step: []edit{ownedBy("capsule.clastix.io/v1beta2", "solar")}},
		"another owner":                      {who: alice, step: []edit{ownedBy("example.com/v1", "solar")}},
		"the reference beside the label":     {who: alice, before: []edit{solar}, step: []edit{ownedBy("capsule.clastix.io/v1beta2", "solar")}},
		"another reference than the label":   {who: s.user("root"), before: []edit{solar}, step: []edit{ownedBy("capsule.clastix.io/v1beta2", "oil")}, refused: true},
		"references that are collected": {
			who:    s.user("system:serviceaccount:kube-system:generic-garbage-collector"),
			before: []edit{ownedBy("capsule.clastix.io/v1beta2", "oil")}, step: []edit{disowned},
		},
		"no tenant at all":      {who: alice, step: []edit{label(tenantLabel, "")}},
		"what else is labelled": {who: alice, before: []edit{solar}, step: []edit{label("mine", "1")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := object(t, `{apiVersion: v1, kind: Namespace, metadata: {generateName: membership-}}`)
			for _, e := range c.before {
				e(o)
			}
			if err := s.admin.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.admin.Delete(context.Background(), o) })
			// A creation gets the verdict of the update.
			if len(c.before) == 0 {
				fresh := object(t, `{apiVersion: v1, kind: Namespace, metadata: {generateName: membership-}}`)
				for _, e := range c.step {
					e(fresh)
				}
				verdict(t, c.who.Create(t.Context(), fresh, client.DryRunAll), c.refused)
			}
			for _, e := range c.step {
				e(o)
			}
			verdict(t, c.who.Status().Update(t.Context(), o.DeepCopy(), &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{"All"}}}), c.refused)
			verdict(t, c.who.Update(t.Context(), o), c.refused)
		})
	}
}

// Namespaces of the system join no tenant, whoever asks.
func TestSystemNamespacesJoinNoTenant(t *testing.T) {
	s := newStage(t)
	for _, who := range []client.Client{s.admin, s.user(controller), s.user(capsule)} {
		for _, name := range []string{"default", "kube-system", "kube-public"} {
			o := object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: `+name+`}}`)
			patch := []byte(`{"metadata":{"labels":{"capsule.clastix.io/tenant":"solar"}}}`)
			verdict(t, who.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", patch)), true)
			patch = []byte(`{"metadata":{"labels":{"mine":"1"}}}`)
			verdict(t, who.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", patch)), false)
		}
		for _, manifest := range []string{`{name: flux-system}`, `{name: weir-system}`, `{name: kube-mine}`, `{generateName: kube-}`} {
			o := object(t, `{apiVersion: v1, kind: Namespace, metadata: `+manifest+`}`)
			verdict(t, who.Create(t.Context(), o.DeepCopy(), client.DryRunAll), false)
			label(tenantLabel, "solar")(o)
			verdict(t, who.Create(t.Context(), o, client.DryRunAll), true)
		}
	}
}
