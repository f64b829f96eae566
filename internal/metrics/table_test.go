package metrics_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/metrics"
)

var update = flag.Bool("update", false, "rewrite the page that is made of the table")

// full returns a world in which every metric has a series.
func full(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.generators = []v1beta1.ArtifactGenerator{generator("app", "")}
	name := types.NamespacedName{Namespace: "apps", Name: "app"}
	w.Built(name, 1, 1, 1)
	w.Pass(name, time.Second)
	w.Step("build", time.Second, nil)
	w.Dropped("shutdown")
	w.Reached(false)
	w.Protected(false)
	w.global = []v1beta2.GlobalTenantResource{{}}
	w.tenant = []v1beta2.TenantResource{{}}
	w.Serving(nothing{}).ServeHTTP(nil, nil)
	return w
}

// The table says what there is: no metric is missing in it, or only in it.
func TestTableIsWhole(t *testing.T) {
	families, err := full(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Name, Kind, Help string
		Labels           []string
	}
	var got, want []line
	for _, f := range families {
		l := line{Name: f.GetName(), Kind: strings.ToLower(f.GetType().String()), Help: f.GetHelp()}
		for _, p := range f.GetMetric()[0].GetLabel() {
			l.Labels = append(l.Labels, p.GetName())
		}
		got = append(got, l)
	}
	for _, m := range metrics.Table() {
		l := line{m.Name, string(m.Kind), m.Help, slices.Clone(m.Labels)}
		slices.Sort(l.Labels)
		want = append(want, l)
	}
	slices.SortFunc(want, func(a, b line) int { return strings.Compare(a.Name, b.Name) })
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the table differs from what is exported (-table +exported):\n%s", d)
	}
}

func TestNamesAreGood(t *testing.T) {
	families, err := full(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// docs/metrics.md has the table, as -update writes it.
func TestPageHasTheTable(t *testing.T) {
	const page, begin, end = "../../docs/metrics.md", "<!-- table: begin -->\n", "<!-- table: end -->\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: the marks of the table are missing", page)
	}
	var b strings.Builder
	b.WriteString("| metric | type | labels | what it says |\n| --- | --- | --- | --- |\n")
	for _, m := range metrics.Table() {
		labels := ""
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, labels, m.Help)
	}
	want := before + begin + b.String() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, string(data)); d != "" {
		t.Errorf("%s is stale; run the test with -update (-want +got):\n%s", page, d)
	}
}

// What the page asks for in alerts is there.
func TestAlertsAskForMetrics(t *testing.T) {
	data, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\b(gotk|weir|capsule)_[a-z_]+`).FindAllString(string(data), -1)
	for _, name := range names {
		if name == "gotk_resource_info" {
			continue // kube-state-metrics'
		}
		if !slices.ContainsFunc(metrics.Table(), func(m metrics.Metric) bool { return m.Name == name }) {
			t.Errorf("there is no %s", name)
		}
	}
}

type nothing struct{}

func (nothing) ServeHTTP(http.ResponseWriter, *http.Request) {}
