package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/condition"
	"github.com/weir-dev/weir/internal/controller/objects"
	"github.com/weir-dev/weir/internal/protect/mark"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/internal/template"
	"github.com/weir-dev/weir/internal/template/library"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

const (
	replications  = "replications.md"
	fromCapsule   = "migrate-from-capsule.md"
	fromReflector = "migrate-from-reflector.md"

	global  = "../config/crd/capsule.clastix.io_globaltenantresources.yaml"
	tenants = "../config/crd/capsule.clastix.io_tenants.yaml"
)

// replicationTables are the tables of the page.
var replicationTables = map[string]func(*testing.T) table{
	"spec":       fieldsOf(global, "spec", 2, "resources[]."),
	"blocks":     fieldsOf(global, "spec.resources[]", 2, "namespacedItems[].", "policy."),
	"references": fieldsOf(global, "spec.resources[].context.resources[]", 1),
	"policy":     fieldsOf(global, "spec.resources[].policy", 1),
	"status":     fieldsOf(global, "status", 2, "processedItems[].", "conditions[]."),
	"items":      fieldsOf(global, "status.processedItems[]", 3),
	"tenant":     fieldsOf(tenants, "spec", 2),
	"creation":   creationTable,
	"deletion":   deletionTable,
	"fast":       fastTable,
	"functions":  functionTable,
	"conditions": conditionTable,
	"mistakes":   conditionMistakes,
	"deprecated": deprecatedTable,
	"flags":      replicationFlags,
}

// replicationFlags are the flags about replications.
func replicationFlags(t *testing.T) table {
	all := flagTable(t)
	return append(all[:1:1], slices.DeleteFunc(all[1:], func(row []string) bool {
		return !regexp.MustCompile("`--(replications|protection|tenant|global|watch-label|concurrent)").MatchString(row[0])
	})...)
}

// outcomes are what users see of what the object reconciler decides.
var outcomes = map[string]string{
	"Create: NotFound":                "is created",
	"Adopt: Shared":                   "is shared",
	"Adopt: Unowned":                  "is managed",
	"Refuse: OwnerConflict":           "is an error, and left alone",
	"Update: FieldsDrifted":           "is set right",
	"Delete: NotInSet":                "is deleted",
	"Leave: NotInSet, Shared":         "stays for the others, without our fields",
	"Leave: NotInSet":                 "stays, without our fields",
	"Release: NotInSet, KeptByPolicy": "stays as it is",
	"Forget: NotInSet, OwnerConflict": "is left alone",
}

// told replaces what the reconciler says by what users see.
func told(t *testing.T, rows table) table {
	t.Helper()
	for _, row := range rows[1:] {
		for i, c := range row[1:] {
			text, ok := outcomes[c]
			if !ok {
				t.Errorf("there are no words for %q", c)
			}
			row[i+1] = text
		}
	}
	return rows
}

// under sets the policy of facts to what a policy of replications means.
func under(f *plan.Facts, p v1beta2.Reconciled) {
	o := objects.Of(mark.Replication{Name: "profile"}, &replicate.Target{Manifest: configMap("1"), Policy: p, Blocks: []int{0}})
	f.Policy, f.Shared = o.Policy, true
}

func creationTable(t *testing.T) table {
	return told(t, decide(plan.Apply, "the object", []v1beta2.Creation{v1beta2.CreationOwner, v1beta2.CreationMerge}, func(f *plan.Facts, c v1beta2.Creation) {
		under(f, v1beta2.Reconciled{Creation: c})
	}, []state{
		{"is absent", all(untracked, absent)},
		{"was created by a replication, and others have it", all(unshared, created, peers)},
		{"was created by a replication that has left it", all(unshared, created)},
		{"was made by somebody else", unshared},
		{"was made by somebody else, and other replications have adopted it", all(unshared, peers)},
		{"is ours already, created or adopted, and others have changed our fields", drifted},
	}))
}

func deletionTable(t *testing.T) table {
	return told(t, decide(plan.Remove, "the object", []v1beta2.Deletion{v1beta2.DeletionRemove, v1beta2.DeletionOrphan}, func(f *plan.Facts, d v1beta2.Deletion) {
		under(f, v1beta2.Reconciled{Deletion: d})
	}, []state{
		{"was created, and no other replication has it", created},
		{"was created, and other replications have it", all(created, peers)},
		{"was adopted, and no other replication has it", steady},
		{"was adopted, and other replications have it", peers},
		{"was deleted meanwhile, and made by somebody else", all(incarnation, func(f *plan.Facts) { f.Live.Share = plan.Share{}; f.Live.Owner = stamp.Owner{} })},
	}))
}

func fastTable(*testing.T) table {
	rows := table{{"text", "becomes"}}
	vars := template.VarsOf("solar", "solar-prod")
	for _, text := range []string{"{{tenant.name}}-config", "in {{ namespace }}", "{{ unknown }}", "{{ .namespace }}", "{not: a placeholder}"} {
		becomes := "`" + vars.Text(text) + "`"
		if becomes == "``" {
			becomes = "nothing"
		}
		rows = append(rows, []string{"`" + text + "`", becomes})
	}
	return rows
}

// functionTable shows what each function does that sprig does not have.
func functionTable(t *testing.T) table {
	rows := table{{"function", "example", "gives"}}
	seen := map[string]bool{}
	for example, names := range ordered(
		`toYaml .tenant.spec.data`, "toYaml, mustToYaml",
		`(fromYaml "a: 1").a`, "fromYaml, mustFromYaml",
		`index (fromYamlArray "[a, b]") 1`, "fromYamlArray",
		`len (fromJsonArray "[1, 2]")`, "fromJsonArray",
		`toToml .tenant.spec.data`, "toToml, mustToToml",
		`(fromToml "a = 1").a`, "fromToml",
		`deterministicUUID .tenant.metadata.name "db"`, "deterministicUUID",
		`(getResourceByName .limits "small").data.cpu`, "getResourceByName, mustGetResourceByName",
		`(getResourceByNamespacedName .limits "platform" "small").data.cpu`, "getResourceByNamespacedName",
		`$key := generateAgeKey`, "generateAgeKey",
		`$key := generateAgePQKey`, "generateAgePQKey",
	) {
		gives := "a new key: `$key.Identity`, which is secret, and `$key.Recipient`"
		if !strings.HasPrefix(example, "$") {
			gives = "`" + evaluated(t, example) + "`"
		}
		var list []string
		for name := range strings.SplitSeq(names, ", ") {
			list = append(list, "`"+name+"`")
			seen[name] = true
		}
		rows = append(rows, []string{strings.Join(list, ", "), "`{{ " + example + " }}`", gives})
	}
	for name := range library.Functions() {
		if !seen[name] {
			t.Errorf("%s is not in the table of functions", name)
		}
	}
	return rows
}

// evaluated is what a generator prints of an expression, on one line.
func evaluated(t *testing.T, expression string) string {
	t.Helper()
	g, err := template.Compile(v1beta2.Generator{Template: "apiVersion: v1\nkind: X\ngives: {{ " + expression + " | quote }}\n"}, template.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]any{"metadata": map[string]any{"namespace": "platform", "name": "small"}, "data": map[string]any{"cpu": "2"}}
	docs, err := g.Render(t.Context(), template.Data{
		"tenant": map[string]any{"metadata": map[string]any{"name": "solar"}, "spec": map[string]any{"data": map[string]any{"cpu": "8"}}},
		"limits": []any{limits},
	}, time.Unix(0, 0))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return strings.TrimSpace(docs[0]["gives"].(string))
}

// conditionTable evaluates expressions as replications do.
func conditionTable(t *testing.T) table {
	rows := table{{"expression", "absent", "`data: {level: info}`", "the same, with the annotation `at: \"2026-08-31T00:00:00Z\"`"}}
	plain := configMap("").DeepCopy()
	plain.Object["data"] = map[string]any{"level": "info"}
	marked := plain.DeepCopy()
	marked.SetAnnotations(map[string]string{"at": "2026-08-31T00:00:00Z"})
	now := time.Date(2026, 8, 31, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{
		"object == null",
		"object != null && object.data.level == 'info'",
		"object.data.level == 'info'",
		"object == null || now >= timestamp(object.metadata.annotations['at']) + duration('1h')",
		"object == null || !has(object.metadata.annotations) || !('at' in object.metadata.annotations) || now >= timestamp(object.metadata.annotations['at']) + duration('720h')",
	} {
		c, err := condition.Compile(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		row := []string{"`" + strings.ReplaceAll(text, "|", "\\|") + "`"}
		for _, live := range []*unstructured.Unstructured{nil, plain, marked} {
			open, _, err := c.Open(t.Context(), live, now)
			switch {
			case err != nil:
				row = append(row, "fails")
			case open:
				row = append(row, "true")
			default:
				row = append(row, "false")
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func conditionMistakes(*testing.T) table {
	rows := table{{"condition", "what is said"}}
	for _, text := range []string{"object.enabled", "object == nil", "self == null", "now + duration('30d') > now"} {
		_, errs := replicate.Compile(&v1beta2.ReplicationSpec{Resources: []v1beta2.Block{{Policy: &v1beta2.Policy{Condition: text}}}}, template.Limits{})
		said := "nothing, and it fails when it is evaluated"
		if errs[0] != nil {
			said = "`" + strings.ReplaceAll(errs[0].Error(), "\n", " ") + "`"
		}
		rows = append(rows, []string{"`" + text + "`", said})
	}
	return rows
}

// deprecatedTable shows the policies that the fields of before stand for.
func deprecatedTable(t *testing.T) table {
	rows := table{{"fields", "`creation`", "`protect`", "`force`", "`deletion`"}}
	for _, fields := range []string{"{}", "{settings: {adopt: true}}", "{settings: {force: true}}", "{pruningOnDelete: false}"} {
		spec := v1beta2.ReplicationSpec{}
		if err := yaml.UnmarshalStrict([]byte(fields), &spec); err != nil {
			t.Fatal(err)
		}
		spec.Resources = []v1beta2.Block{{}}
		blocks, errs := replicate.Compile(&spec, template.Limits{})
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		p, name := blocks[0].Policy, "`"+strings.Trim(fields, "{}")+"`"
		if strings.HasPrefix(fields, "{settings") {
			name = "`" + strings.TrimPrefix(strings.TrimSuffix(fields, "}"), "{") + "`"
		}
		if fields == "{}" {
			name = "none"
		}
		rows = append(rows, []string{name, string(p.Creation), text(p.Protect), text(p.Force), string(p.Deletion)})
	}
	return rows
}

func text(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// TestSprig: the functions that the page says are missing are, and no others.
func TestSprig(t *testing.T) {
	all := template.Functions()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		if slices.Contains(all, name) {
			t.Errorf("templates have %s", name)
		}
		if !strings.Contains(read(t, replications), "`"+name+"`") {
			t.Errorf("the page does not say that %s is missing", name)
		}
	}
}
