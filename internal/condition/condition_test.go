package condition_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/condition"
)

func TestCompile(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		err  string // empty: it compiles
	}{
		"absent":                 {"object == null", ""},
		"spaces around":          {" \n object == null\n ", ""},
		"macros":                 {"object != null && object.spec.items.all(i, has(i.name)) && object.spec.items.exists(i, i.size() > 1)", ""},
		"Kubernetes' functions":  {"object.spec.quantity == quantity('1Gi') || object.spec.url.find('[0-9]+') == '1'", ""},
		"R9 at most 4096":        {"true //" + strings.Repeat("x", 4096-7), ""},
		"R9 4096 letters":        {"true //" + strings.Repeat("ä", 4096-7), ""},
		"R9 4097":                {"true //" + strings.Repeat("x", 4097-7), "longer than 4096"},
		"R8 blank":               {" \t\n", "blank"},
		"R10 syntax":             {"object ==", "line 1, column 10"},
		"R10 self":               {"self == null", "undeclared reference to 'self'"},
		"R10 request":            {"request.userInfo.name == ''", "undeclared reference to 'request'"},
		"R10 oldObject":          {"oldObject == null", "undeclared reference"},
		"R10 string":             {"'true'", "type string"},
		"R10 int":                {"1 + 1", "type int"},
		"R10 dyn":                {"object.spec.enabled", "type dyn"},
		"R11 template":           {"{{tenant.name}} == 'a'", "does not compile"},
		"days are no durations":  {"now > timestamp(object.t) + duration('30d')", "invalid duration"},
		"a time is not a string": {"now > object.metadata.creationTimestamp", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := condition.Compile(c.text)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// page is the second condition of the reference page.
const page = `object == null ||
!has(object.metadata.annotations) ||
!('keys.example.org/rotated-at' in object.metadata.annotations) ||
now >= timestamp(object.metadata.annotations['keys.example.org/rotated-at']) + duration('5m')`

func TestOpen(t *testing.T) {
	at := time.Date(2026, 8, 31, 10, 5, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		text, object string
		open, fails  bool
	}{
		"R98 absent":             {text: "object == null", open: true},
		"R99 present":            {text: "object == null", object: "{}"},
		"a value":                {text: "object.data.count == 3 && object.data.part == 1.5", object: "{data: {count: 3, part: 1.5}}", open: true},
		"server's metadata":      {text: "object.metadata.resourceVersion == '7'", object: "{metadata: {resourceVersion: '7'}}", open: true},
		"page: absent":           {text: page, open: true},
		"page: no annotations":   {text: page, object: "{metadata: {}}", open: true},
		"page: no marker":        {text: page, object: "{metadata: {annotations: {a: b}}}", open: true},
		"R101 too early":         {text: page, object: "{metadata: {annotations: {keys.example.org/rotated-at: '2026-08-31T10:00:01Z'}}}"},
		"R101 due":               {text: page, object: "{metadata: {annotations: {keys.example.org/rotated-at: '2026-08-31T10:00:00Z'}}}", open: true},
		"R103 malformed":         {text: page, object: "{metadata: {annotations: {keys.example.org/rotated-at: secret-value}}}", fails: true},
		"R103 missing key":       {text: "object.data.v == ''", object: "{}", fails: true},
		"a field of null":        {text: "object.data.v == ''", fails: true},
		"Q16 more than it costs": {text: "object.l.all(a, object.l.all(b, object.l.all(c, a + b + c != 'x')))", object: "{l: [" + strings.Repeat("aaaaaaaa,", 300) + "]}", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := condition.Compile(c.text)
			if err != nil {
				t.Fatal(err)
			}
			var live *unstructured.Unstructured
			if c.object != "" {
				live = &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(c.object), &live.Object); err != nil {
					t.Fatal(err)
				}
			}
			open, why, err := compiled.Open(t.Context(), live, at)
			if open != c.open || errors.Is(err, condition.ErrEvaluation) != c.fails || (err != nil) != c.fails {
				t.Errorf("open is %t, error %v", open, err)
			}
			if closed := !open && err == nil; closed != (why == "ConditionNotMet: apply skipped") {
				t.Errorf("the reason is %q", why)
			}
		})
	}
}
