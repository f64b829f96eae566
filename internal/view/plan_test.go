package view_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/view"
)

// plans have one of everything.
func plans() *view.Plans {
	p := &view.Plan{
		Kind: "TenantResource", Namespace: "solar-system", Name: "profile", New: true, Notes: []string{"it is\ncordoned"},
		Prune: &view.Prune{Digest: "sha256:00", Objects: 2, Wanted: 5}, Errors: []string{"namespace solar-uat: no template"},
	}
	for _, s := range []view.Step{
		{Action: view.Create, Name: "a", Why: "is not there", Tenant: "solar", Origin: "0/raw-0", Reasons: []string{"NotFound"}},
		{Action: view.Unchanged, Name: "b"},
		{Action: view.Conflict, Name: "c", Why: "fields belong to others: \x1b[31m"},
		{Action: view.Remove, Name: "d", Why: "no longer wanted"},
		{Action: view.Release, Group: "rbac", Kind: "ClusterRole", Name: "e"},
	} {
		if s.Version = "v1"; s.Kind == "" {
			s.Kind, s.Namespace = "ConfigMap", "solar-prod"
		}
		p.Add(s)
	}
	blocked := &view.Plan{Kind: "GlobalTenantResource", Name: "empty", Prune: &view.Prune{Digest: "sha256:01", Blocked: "too\nmany"}}
	return &view.Plans{Plans: []*view.Plan{p, blocked, {Kind: "GlobalTenantResource", Name: "none"}}}
}

// TestPlans holds what people and programs rely on.
func TestPlans(t *testing.T) {
	for _, c := range []struct {
		format view.Format
		all    bool
		want   string
	}{
		{view.Table, false, planTable},
		{view.JSON, true, planJSON},
	} {
		var out bytes.Buffer
		if err := plans().Print(&out, c.format, c.all); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, out.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.format, d)
		}
	}
}

const planTable = `TenantResource solar-system/profile (new)
note: it is cordoned
ACTION     OBJECT                   REASON
create     ConfigMap solar-prod/a   is not there
conflict   ConfigMap solar-prod/c   fields belong to others: ` + "\ufffd" + `[31m
remove     ConfigMap solar-prod/d   no longer wanted
release    ClusterRole e            
create 1 · conflict 1 · remove 1 · release 1 · unchanged 1
prune digest: sha256:00 (2 objects, 5 are wanted)

GlobalTenantResource empty
nothing to do
prune blocked: too many

GlobalTenantResource none
nothing to do
`

const planJSON = `{
  "plans": [
    {
      "kind": "TenantResource",
      "namespace": "solar-system",
      "name": "profile",
      "new": true,
      "notes": [
        "it is\ncordoned"
      ],
      "counts": {
        "conflict": 1,
        "create": 1,
        "release": 1,
        "remove": 1,
        "unchanged": 1
      },
      "steps": [
        {
          "action": "create",
          "version": "v1",
          "kind": "ConfigMap",
          "namespace": "solar-prod",
          "name": "a",
          "tenant": "solar",
          "origin": "0/raw-0",
          "reasons": [
            "NotFound"
          ],
          "why": "is not there"
        },
        {
          "action": "unchanged",
          "version": "v1",
          "kind": "ConfigMap",
          "namespace": "solar-prod",
          "name": "b"
        },
        {
          "action": "conflict",
          "version": "v1",
          "kind": "ConfigMap",
          "namespace": "solar-prod",
          "name": "c",
          "why": "fields belong to others: \u001b[31m"
        },
        {
          "action": "remove",
          "version": "v1",
          "kind": "ConfigMap",
          "namespace": "solar-prod",
          "name": "d",
          "why": "no longer wanted"
        },
        {
          "action": "release",
          "group": "rbac",
          "version": "v1",
          "kind": "ClusterRole",
          "name": "e"
        }
      ],
      "prune": {
        "digest": "sha256:00",
        "objects": 2,
        "wanted": 5
      },
      "errors": [
        "namespace solar-uat: no template"
      ]
    },
    {
      "kind": "GlobalTenantResource",
      "name": "empty",
      "counts": {},
      "steps": [],
      "prune": {
        "digest": "sha256:01",
        "objects": 0,
        "wanted": 0,
        "blocked": "too\nmany"
      }
    },
    {
      "kind": "GlobalTenantResource",
      "name": "none",
      "counts": {},
      "steps": []
    }
  ]
}
`

// What the exit code is made of.
func TestPlanIsNews(t *testing.T) {
	for a, want := range map[view.Action][2]bool{ // changes, broken
		view.Create: {true, false}, view.Update: {true, false}, view.Adopt: {true, false}, view.Conflict: {true, false},
		view.Wait: {true, false}, view.Remove: {true, false}, view.Release: {true, false}, view.Fail: {false, true},
		view.Skip: {}, view.Keep: {}, view.Forget: {}, view.Unchanged: {},
	} {
		p := &view.Plan{}
		p.Add(view.Step{Action: a})
		if got := [2]bool{p.Changes(), p.Broken()}; got != want {
			t.Errorf("%s: %v, want %v", a, got, want)
		}
	}
	if !(&view.Plan{Errors: []string{"x"}}).Broken() {
		t.Error("an error breaks nothing")
	}
}
