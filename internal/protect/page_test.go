package protect_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/protect/mark"
)

// block returns the block of docs/protection.md that stands behind the mark.
func block(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/protection.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "<!-- "+name+" -->\n```")
	if !ok {
		t.Fatalf("the page has no block %q", name)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	text, _, _ := strings.Cut(rest, "```\n")
	return text
}

// createBlock creates the objects of a block, if they are not there.
func (s *stage) createBlock(t *testing.T, name string) {
	t.Helper()
	for document := range strings.SplitSeq(block(t, name), "---\n") {
		if err := s.admin.Create(t.Context(), object(t, document)); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// The page shows the refusal in its words, and a command that breaks the glass.
func TestPage(t *testing.T) {
	s := newStage(t)
	s.glass(t)
	o := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: profile, namespace: solar-prod}}`)
	s.create(t, `{apiVersion: v1, kind: Namespace, metadata: {name: solar-prod}}`)
	const weir = "system:serviceaccount:weir-system:weir-controller"
	protectFor(o, mark.Replication{Name: "profile"}, weir)
	label(createdBy, "resources")(o)
	if err := s.user(controller).Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	marks := map[string]any{"metadata": map[string]any{"labels": o.GetLabels(), "annotations": o.GetAnnotations()}}
	if got, want := normal(t, marks), block(t, "marks"); got != normal(t, parsed(t, want)) {
		t.Errorf("the page shows the marks\n%s\nand they are\n%s", want, got)
	}
	err := s.admin.Delete(t.Context(), o)
	if err == nil || !strings.Contains(err.Error()+"\n", block(t, "refusal")) {
		t.Errorf("got %v, and the page shows another refusal", err)
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", block(t, "command"))
	command.Env = []string{"PATH=" + s.cluster.Bin() + ":" + os.Getenv("PATH"), "KUBECONFIG=" + s.cluster.Kubeconfig(t, s.cluster.Admin()), "USER=olga", "HOME=" + t.TempDir()}
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
}

func parsed(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func normal(t *testing.T, v any) string {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
