package field

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

func parseObject(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

func entry(manager, operation, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// The fields of a pod whose containers and ports are keyed lists and whose
// finalizers are a set.
const podFields = `{"f:metadata":{"f:finalizers":{"v:\"x\"":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":` +
	`{".":{},"f:name":{},"f:image":{},"f:args":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}`

const (
	wanted = `spec: {containers: [{name: web, image: i, args: [a, b], ports: [{containerPort: 80}]}], volumes: []}`
	stored = `spec: {restartPolicy: Always, containers: [{name: web, image: i, args: [a, b], ports: [{containerPort: 80, protocol: TCP}], pullPolicy: x}]}`
)

// R29, R30: what counts as drift of our fields.
func TestOwned(t *testing.T) {
	body := parseObject(t, wanted)
	live := parseObject(t, stored)
	live.SetManagedFields([]metav1.ManagedFieldsEntry{entry("us", "Apply", "", podFields)})
	base := Owned(body, live, "us", true)
	cases := map[string]struct {
		text string
		same bool
	}{
		"the same":                  {stored, true},
		"another container first":   {strings.Replace(stored, "containers: [", "containers: [{name: sidecar, image: j}, ", 1), true},
		"another port first":        {strings.Replace(stored, "ports: [", "ports: [{containerPort: 8080, protocol: TCP}, ", 1), true},
		"a foreign field":           {strings.Replace(stored, "restartPolicy: Always", "restartPolicy: Never", 1), true},
		"a status":                  {stored + "\nstatus: {phase: Running}", true},
		"an own field":              {strings.Replace(stored, "image: i", "image: k", 1), false},
		"an item of an atomic list": {strings.Replace(stored, "[a, b]", "[a, b, c]", 1), false},
		"our container is gone":     {strings.Replace(stored, "name: web", "name: other", 1), false},
		"our port is gone":          {strings.Replace(stored, "containerPort: 80,", "containerPort: 81,", 1), false},
	}
	for name, c := range cases {
		now := parseObject(t, c.text)
		now.SetManagedFields(live.GetManagedFields())
		if got := Owned(body, now, "us", true); (got == base) != c.same {
			t.Errorf("%s: %s, was %s", name, got, base)
		}
	}
	lost := live.DeepCopy()
	lost.SetManagedFields([]metav1.ManagedFieldsEntry{entry("us", "Apply", "", `{}`), entry("them", "Update", "", podFields)})
	if got := Owned(body, lost, "us", true); got == base || got[:16] != base[:16] {
		t.Errorf("lost ownership gives %s, was %s", got, base)
	}
}

func TestOwnedInSets(t *testing.T) {
	body, live := parseObject(t, ""), parseObject(t, "")
	body.SetFinalizers([]string{"x"})
	live.SetFinalizers([]string{"x"})
	live.SetManagedFields([]metav1.ManagedFieldsEntry{entry("us", "Update", "", podFields)})
	base := Owned(body, live, "us", false)
	live.SetFinalizers([]string{"y", "x"})
	if Owned(body, live, "us", false) != base {
		t.Error("a foreign item of a set counts as drift")
	}
	live.SetFinalizers([]string{"y"})
	if Owned(body, live, "us", false) == base {
		t.Error("a lost item of a set does not count as drift")
	}
}

func TestContains(t *testing.T) {
	body, live := parseObject(t, wanted), parseObject(t, stored)
	delete(body.Object["spec"].(map[string]any), "volumes")
	if !Contains(live.Object, body.Object) {
		t.Error("what was stored does not contain what was written")
	}
	body.Object["spec"].(map[string]any)["nodeName"] = "n"
	if Contains(live.Object, body.Object) {
		t.Error("a missing field is not missed")
	}
}

// R37 to R40, R46: whose fields are reclaimed.
func TestReclaim(t *testing.T) {
	const a, b, c = `{"f:data":{"f:a":{}}}`, `{"f:data":{"f:b":{}}}`, `{"f:data":{"f:c":{}}}`
	kubectl := []policy.Manager{{Name: "kubectl", Prefix: true}}
	cases := map[string]struct {
		have []metav1.ManagedFieldsEntry
		from []policy.Manager
		want string
	}{
		"nothing":               {[]metav1.ManagedFieldsEntry{entry("us", "Apply", "", a), entry("other", "Update", "", b)}, kubectl, ""},
		"R37 kubectl":           {[]metav1.ManagedFieldsEntry{entry("us", "Apply", "", a), entry("kubectl", "Update", "", b)}, kubectl, `us/Apply/{"f:data":{"f:a":{},"f:b":{}}}`},
		"R38 prefix":            {[]metav1.ManagedFieldsEntry{entry("us", "Apply", "", a), entry("kubectl-edit", "Update", "", b), entry("other", "Update", "", c)}, kubectl, `us/Apply/{"f:data":{"f:a":{},"f:b":{}}} other/Update/` + c},
		"R39 ours by update":    {[]metav1.ManagedFieldsEntry{entry("us", "Update", "", a)}, nil, `us/Apply/` + a},
		"R40 subresource stays": {[]metav1.ManagedFieldsEntry{entry("kubectl", "Update", "status", a), entry("us", "Update", "status", b)}, kubectl, ""},
		"R46 exact and by operation": {
			[]metav1.ManagedFieldsEntry{entry("helm", "Update", "", a), entry("helm", "Apply", "", b), entry("helm2", "Update", "", c)},
			[]policy.Manager{{Name: "helm", Operation: "Update"}}, `helm/Apply/` + b + ` helm2/Update/` + c + ` us/Apply/` + a,
		},
	}
	for name, c := range cases {
		got, moved := Reclaim(c.have, "us", c.from)
		if moved != (c.want != "") {
			t.Errorf("%s: moved is %v", name, moved)
		}
		if !moved {
			continue
		}
		var text []string
		for _, e := range got {
			text = append(text, fmt.Sprintf("%s/%s/%s", e.Manager, e.Operation, e.FieldsV1.GetRawString()))
		}
		if d := cmp.Diff(c.want, strings.Join(text, " ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// What an object said before it was adopted passes to an heir.
func TestBequeath(t *testing.T) {
	const a, b, c = `{"f:data":{"f:a":{}}}`, `{"f:data":{"f:b":{}}}`, `{"f:data":{"f:c":{}}}`
	const notes = `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`
	from := []policy.Manager{{Name: "kubectl", Prefix: true}}
	for name, c := range map[string]struct {
		have []metav1.ManagedFieldsEntry
		want string
	}{
		"nobody to inherit from": {[]metav1.ManagedFieldsEntry{entry("us", "Apply", "", a), entry("other", "Update", "", b)}, ""},
		"several":                {[]metav1.ManagedFieldsEntry{entry("kubectl", "Apply", "", a), entry("other", "Update", "", c), entry("kubectl-label", "Update", "", b)}, `heir/Update/{"f:data":{"f:a":{},"f:b":{}}} other/Update/` + c},
		"more":                   {[]metav1.ManagedFieldsEntry{entry("heir", "Update", "", a), entry("kubectl", "Update", "", b)}, `heir/Update/{"f:data":{"f:a":{},"f:b":{}}}`},
		"a subresource":          {[]metav1.ManagedFieldsEntry{entry("kubectl", "Update", "status", a)}, ""},
		"only notes":             {[]metav1.ManagedFieldsEntry{entry("kubectl", "Update", "", notes)}, ""},
		"notes among others":     {[]metav1.ManagedFieldsEntry{entry("kubectl", "Update", "", `{"f:data":{"f:a":{}},`+notes[1:])}, "kubectl/Update/" + notes + " heir/Update/" + a},
	} {
		got, moved := Bequeath(c.have, "heir", from)
		if moved != (c.want != "") {
			t.Errorf("%s: moved is %v", name, moved)
		}
		var text []string
		for _, e := range got {
			text = append(text, fmt.Sprintf("%s/%s/%s", e.Manager, e.Operation, e.FieldsV1.GetRawString()))
		}
		if d := cmp.Diff(c.want, strings.Join(text, " ")); moved && d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestManagers(t *testing.T) {
	entries := []metav1.ManagedFieldsEntry{
		entry("us", "Apply", "", podFields), entry("b", "Apply", "", podFields), entry("a", "Update", "", podFields),
	}
	got := Managers(entries, `.spec.containers[name="web"].image`, "us")
	if d := cmp.Diff([]string{"a", "b"}, got); d != "" {
		t.Error(d)
	}
}

// What an apply would conflict on: a field that another manages and that would
// change.
func TestConflicts(t *testing.T) {
	keys := []metav1.ManagedFieldsEntry{
		entry("us", "Apply", "", `{"f:data":{"f:a":{}}}`), entry("them", "Update", "", podFields),
		entry("kubectl", "Update", "", `{"f:spec":{"f:nodeName":{}}}`), entry("status", "Update", "status", `{"f:spec":{"f:hostNetwork":{}}}`),
	}
	from := []policy.Manager{{Name: "kubectl", Prefix: true}}
	for name, c := range map[string]struct{ body, want string }{
		"the same":                      {wanted, ""},
		"a field of nobody":             {"spec: {priority: 1}", ""},
		"a field of ours":               {"data: {a: x}", ""},
		"a value":                       {strings.Replace(wanted, "image: i", "image: k", 1), `.spec.containers[name="web"].image them`},
		"a list of values":              {strings.Replace(wanted, "[a, b]", "[a]", 1), `.spec.containers[name="web"].args them`},
		"another item":                  {"spec: {containers: [{name: sidecar, image: k}]}", ""},
		"a key that is defaulted":       {"spec: {containers: [{name: web, ports: [{containerPort: 80, hostPort: 1}]}]}", ""},
		"a member of a set":             {`metadata: {name: a, finalizers: [x, y]}`, ""},
		"a subresource's":               {"spec: {hostNetwork: true}", ""},
		"a reclaimed manager's":         {"spec: {nodeName: other}", ""},
		"a value in place of a mapping": {"spec: {containers: [{name: web, ports: x}]}", ""},
		"something of another kind":     {"spec: x", ""},
	} {
		live := parseObject(t, stored+"\ndata: {a: b}")
		live.Object["spec"].(map[string]any)["nodeName"] = "n"
		live.SetFinalizers([]string{"x"})
		live.SetManagedFields(keys)
		var got []string
		for _, f := range Conflicts(parseObject(t, c.body), live, "us", from) {
			got = append(got, f.Path+" "+strings.Join(f.Managers, ","))
		}
		if d := cmp.Diff(c.want, strings.Join(got, "; ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func FuzzOwned(f *testing.F) {
	f.Add(podFields, wanted, stored)
	f.Add(`{"f:a":{"k:{\"x\":[1]}":{}}}`, "a: [{x: 1}]", "a: [3]")
	f.Fuzz(func(t *testing.T, fields, body, live string) {
		var b, l unstructured.Unstructured
		if yaml.Unmarshal([]byte(body), &b.Object) != nil || yaml.Unmarshal([]byte(live), &l.Object) != nil || b.Object == nil || l.Object == nil {
			return
		}
		if _, ok := l.Object["metadata"].(map[string]any); !ok {
			delete(l.Object, "metadata")
		}
		l.SetManagedFields([]metav1.ManagedFieldsEntry{entry("us", "Apply", "", fields)})
		once := Owned(&b, &l, "us", true)
		if again := Owned(&b, &l, "us", true); again != once {
			t.Error("the hash changes")
		}
		Contains(l.Object, b.Object)
		Conflicts(&b, &l, "them", nil)
		Bequeath(l.GetManagedFields(), "them", []policy.Manager{{Name: "u", Prefix: true}})
		Reclaim(l.GetManagedFields(), "them", []policy.Manager{{Name: "u", Prefix: true}})
	})
}
