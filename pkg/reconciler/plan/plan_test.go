package plan_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

var update = flag.Bool("update", false, "rewrite what the cases want")

// TestCases decides on the facts of testdata/*.txtar. A case has the facts of
// an apply or a removal, on top of base.yaml where the archive has one, and the
// wanted verb, reasons and error. Several cases of one archive vary its base:
//
//	-- base.yaml --
//	-- apply NAME --
//	-- want NAME --
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { archive(t, file) })
	}
}

func archive(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var base string
	got := map[string]string{}
	for i := range a.Files {
		f := &a.Files[i]
		kind, name, _ := strings.Cut(f.Name, " ")
		switch kind {
		case "base.yaml":
			base = string(f.Data)
		case "apply", "remove":
			got[name] = decide(t, kind, base, string(f.Data))
		case "want":
			if *update {
				f.Data = []byte(got[name])
			} else if d := cmp.Diff(string(f.Data), got[name]); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// decide returns one line with the verb and its reasons, and one with the
// error if there is one.
func decide(t *testing.T, kind, base, text string) string {
	t.Helper()
	f := plan.Facts{Version: "v1"}
	f.Kind, f.Namespace, f.Name = "ConfigMap", "shop", "a"
	f.Policy = policy.Policy{
		Adoption: policy.AdoptIfUnowned, Reconcile: policy.OnObjectChange, Update: policy.Replace,
		Delete: policy.DeleteAlways, Conflict: policy.Force,
	}
	for _, doc := range []string{base, text} {
		if err := yaml.UnmarshalStrict([]byte(doc), &f); err != nil {
			t.Fatal(err)
		}
	}
	o := plan.Apply(f)
	if kind == "remove" {
		o = plan.Remove(f)
	}
	if again := plan.Apply(f); kind == "apply" && !cmp.Equal(marshal(t, o), marshal(t, again)) {
		t.Error("the same facts give another plan")
	}
	words := []string{string(o.Verb)}
	for _, r := range o.Reasons {
		words = append(words, string(r))
	}
	line := strings.Join(words, " ")
	if o.Err != nil {
		line += "\nerror: " + o.Err.Error()
	}
	if o.Verb.Writes() && len(o.Reasons) == 0 {
		t.Error("a write without a reason")
	}
	if o.Verb.Writes() != (o.Writes > 0) {
		t.Errorf("%s costs %d writes", o.Verb, o.Writes)
	}
	return line + "\n"
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The adoption table of the reference page: who may have an object that exists.
func TestAdoptionTable(t *testing.T) {
	owners := map[string]stamp.Owner{
		"nobody": {}, "ours": {Ours: true, Intact: true, Name: "us"}, "other": {Name: "them"},
	}
	want := map[policy.Adoption]map[string]plan.Verb{
		policy.AdoptNever:     {"nobody": plan.Refuse, "ours": plan.Update, "other": plan.Refuse},
		policy.AdoptIfUnowned: {"nobody": plan.Adopt, "ours": plan.Update, "other": plan.Refuse},
		policy.AdoptAlways:    {"nobody": plan.Adopt, "ours": plan.Update, "other": plan.Adopt},
	}
	for adoption, row := range want {
		for owner, verb := range row {
			f := plan.Facts{
				Digest: "d", Item: inventory.Item{State: inventory.Intended},
				Policy: policy.Policy{Adoption: adoption, Update: policy.Replace},
				Live:   &plan.Live{UID: "u", Owner: owners[owner]},
			}
			if got := plan.Apply(f).Verb; got != verb {
				t.Errorf("%s, owned by %s: %s, want %s", adoption, owner, got, verb)
			}
		}
	}
}

func TestPlanSurvivesJSON(t *testing.T) {
	p := &plan.Plan{Owner: "o", Apply: []plan.Action{{
		Verb: plan.Create, Reasons: []plan.Reason{plan.NotFound}, Pre: plan.Precondition{Absent: true}, Digest: "d", Writes: 1,
	}}}
	p.Apply[0].Kind, p.Apply[0].Name = "ConfigMap", "a"
	var back plan.Plan
	if err := json.Unmarshal([]byte(marshal(t, p)), &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(*p, back); d != "" {
		t.Error(d)
	}
	if back.Empty() || !new(plan.Plan).Empty() {
		t.Error("Empty is wrong")
	}
}
