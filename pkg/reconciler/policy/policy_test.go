package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

const prefix = "op.example.org"

// R75, R76, R78: the spellings of the reference page.
func TestReadValues(t *testing.T) {
	spellings := map[string]map[string]policy.Policy{
		policy.AdoptionAnnotation: {
			"never": {Adoption: policy.AdoptNever}, "Never": {Adoption: policy.AdoptNever},
			"if-unowned": {Adoption: policy.AdoptIfUnowned}, "IfUnowned": {Adoption: policy.AdoptIfUnowned},
			"IF-UNOWNED": {Adoption: policy.AdoptIfUnowned}, "if unowned": {Adoption: policy.AdoptIfUnowned},
			"if_unowned": {Adoption: policy.AdoptIfUnowned}, "always": {Adoption: policy.AdoptAlways}, "": {},
		},
		policy.ReconcileAnnotation: {
			"on-object-change":              {Reconcile: policy.OnObjectChange},
			"on-object-or-component-change": {Reconcile: policy.OnObjectOrComponentChange},
			"OnObjectOrComponentChange":     {Reconcile: policy.OnObjectOrComponentChange},
			"once":                          {Reconcile: policy.Once},
		},
		policy.UpdateAnnotation: {
			"replace": {Update: policy.Replace}, "recreate": {Update: policy.Recreate},
			"ssa-merge": {Update: policy.SsaMerge}, "SsaMerge": {Update: policy.SsaMerge}, "SSAMerge": {Update: policy.SsaMerge},
			"ssa-override": {Update: policy.SsaOverride}, "default": {}, "": {},
		},
		policy.DeleteAnnotation: {
			"delete": {Delete: policy.DeleteAlways}, "orphan": {Delete: policy.Orphan},
			"orphan-on-apply": {Delete: policy.OrphanOnApply}, "OrphanOnDelete": {Delete: policy.OrphanOnDelete}, "default": {},
		},
		policy.ApplyOrderAnnotation:  {"-32768": {ApplyOrder: -32768}, "32767": {ApplyOrder: 32767}, "+5": {ApplyOrder: 5}},
		policy.DeleteOrderAnnotation: {"7": {DeleteOrder: 7}},
		policy.PurgeOrderAnnotation:  {"0": {PurgeOrder: new(0)}},
		policy.ReapplyAnnotation:     {"3m33s": {Reapply: 213 * time.Second}, "0": {}},
		policy.HintAnnotation: {
			"has-ready-condition, conditions=A;B": {Hints: []string{"has-ready-condition", "conditions=A;B"}},
		},
	}
	for name, values := range spellings {
		for value, want := range values {
			got, err := policy.Read(prefix, map[string]string{prefix + "/" + name: value, "other/" + name: "bogus"})
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("%s %q: %v %s", name, value, err, d)
			}
		}
	}
}

// R77, R79, R81: what is refused, and that the annotation is named.
func TestReadRefuses(t *testing.T) {
	refused := map[string][]string{
		policy.AdoptionAnnotation:    {"default", "ifunowned", "sometimes"},
		policy.ReconcileAnnotation:   {"default", "twice"},
		policy.UpdateAnnotation:      {"patch"},
		policy.DeleteAnnotation:      {"keep"},
		policy.ApplyOrderAnnotation:  {"-32769", "32768", "1.5", "", " 5"},
		policy.DeleteOrderAnnotation: {"x"},
		policy.PurgeOrderAnnotation:  {"32768"},
		policy.ReapplyAnnotation:     {"1d", "", "-1m"},
		policy.HintAnnotation:        {"bogus", "conditions="},
	}
	for name, values := range refused {
		for _, value := range values {
			_, err := policy.Read(prefix, map[string]string{prefix + "/" + name: value})
			if err == nil || !strings.Contains(err.Error(), prefix+"/"+name) {
				t.Errorf("%s %q: %v", name, value, err)
			}
		}
	}
}

func TestKeeps(t *testing.T) {
	keeps := map[policy.Delete][2]bool{ // on apply, on delete
		policy.DeleteAlways: {false, false}, policy.Orphan: {true, true},
		policy.OrphanOnApply: {true, false}, policy.OrphanOnDelete: {false, true},
	}
	for d, want := range keeps {
		if d.Keeps(false) != want[0] || d.Keeps(true) != want[1] {
			t.Errorf("%s keeps %v %v", d, d.Keeps(false), d.Keeps(true))
		}
	}
}

func TestOrAndEqual(t *testing.T) {
	base := policy.Policy{Adoption: policy.AdoptNever, Update: policy.Replace, PurgeOrder: new(1), Hints: []string{"x"}}
	got := policy.Policy{Update: policy.Recreate}.Or(base)
	want := policy.Policy{Adoption: policy.AdoptNever, Update: policy.Recreate, PurgeOrder: new(1), Hints: []string{"x"}}
	if !got.Equal(&want) || got.Equal(&base) || (&policy.Policy{}).Equal(&want) {
		t.Errorf("got %+v", got)
	}
}

func TestType(t *testing.T) {
	gk := schema.GroupKind{Group: "a.example.org", Kind: "Foo"}
	for pattern, want := range map[policy.Type]bool{
		{Group: "a.example.org", Kind: "Foo"}: true, {Group: "a.example.org", Kind: "*"}: true,
		{Group: "*", Kind: "Foo"}: true, {Group: "*.example.org", Kind: "*"}: true, {Group: "*.org", Kind: "*"}: true,
		{Group: "*example.org", Kind: "*"}: false, {Group: "a.*", Kind: "*"}: false, {Group: "*", Kind: "Bar"}: false,
	} {
		if pattern.Matches(gk) != want {
			t.Errorf("%v matches: %v", pattern, !want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("adoption-policy", "IfUnowned")
	f.Add("reapply-interval", "1h")
	f.Add("status-hint", "conditions=A;B,has-ready-condition")
	f.Fuzz(func(t *testing.T, name, value string) {
		p, err := policy.Read(prefix, map[string]string{prefix + "/" + name: value})
		if err != nil {
			return
		}
		if err := p.Check(); err != nil {
			t.Errorf("%q=%q is read and not valid: %v", name, value, err)
		}
	})
}
