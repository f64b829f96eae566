package view_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/view"
)

func printed(t *testing.T, r view.Report, f view.Format) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.Print(&out, f); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEmpty(t *testing.T) {
	for format, want := range map[view.Format]string{
		view.Table: "",
		view.JSON:  "{\n  \"artifacts\": [],\n  \"namespaces\": []\n}\n",
		view.YAML:  "artifacts: []\nnamespaces: []\n",
	} {
		if diff := cmp.Diff(want, printed(t, view.Report{}, format)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}

// full has every field.
func full() view.Report {
	return view.Report{
		Artifacts: []view.Artifact{{
			Name: "app", Namespace: "apps", Revision: "latest@sha256:0123456789abcdef", Digest: "sha256:00", Size: 1536, Files: 2,
			Labels: map[string]string{"b": "2", "a": "1"}, Annotations: map[string]string{"c": "<3>"},
			OriginRevision: "main@sha1:0123", ExportedInputs: map[string]apiextensionsv1.JSON{
				"n": {Raw: []byte("12345678901234567890")}, "m": {Raw: []byte(`{"x":[1.50,null,"<y>"]}`)},
			},
		}, {Name: "bare", Namespace: "apps"}},
		Namespaces: []view.Namespace{{Name: "tenant", Labels: map[string]string{"b": "2", "a": "1"}}},
		Error:      &view.Error{Reason: "BuildFailed", Stalled: true, Message: "it's <broken>"},
	}
}

// TestStable holds what programs rely on: a failure means that they break.
func TestStable(t *testing.T) {
	const want = `{
  "artifacts": [
    {
      "name": "app",
      "namespace": "apps",
      "revision": "latest@sha256:0123456789abcdef",
      "digest": "sha256:00",
      "size": 1536,
      "files": 2,
      "labels": {
        "a": "1",
        "b": "2"
      },
      "annotations": {
        "c": "<3>"
      },
      "originRevision": "main@sha1:0123",
      "exportedInputs": {
        "m": {
          "x": [
            1.50,
            null,
            "<y>"
          ]
        },
        "n": 12345678901234567890
      }
    },
    {
      "name": "bare",
      "namespace": "apps",
      "revision": "",
      "digest": "",
      "size": 0,
      "files": 0
    }
  ],
  "namespaces": [
    {
      "name": "tenant",
      "labels": {
        "a": "1",
        "b": "2"
      }
    }
  ],
  "error": {
    "reason": "BuildFailed",
    "stalled": true,
    "message": "it's <broken>"
  }
}
`
	if diff := cmp.Diff(want, printed(t, full(), view.JSON)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestYAML(t *testing.T) {
	for _, want := range []string{
		"    \"n\": 12345678901234567890\n", "  revision: latest@sha256:0123456789abcdef\n", "  size: 1536\n",
		"error:\n  message: it's <broken>\n  reason: BuildFailed\n  stalled: true\n",
	} {
		if got := printed(t, full(), view.YAML); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestTable(t *testing.T) {
	const want = `NAMESPACE   ARTIFACT   FILES   SIZE      REVISION
apps        app        2       1.5 KiB   latest@sha256:0123456789ab
apps        bare       0       0 B       

MANAGED NAMESPACE   LABELS    ANNOTATIONS
tenant              a=1,b=2   -
`
	if diff := cmp.Diff(want, printed(t, full(), view.Table)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	only := view.Report{Namespaces: full().Namespaces}
	_, namespaces, _ := strings.Cut(want, "\n\n")
	if diff := cmp.Diff(namespaces, printed(t, only, view.Table)); diff != "" {
		t.Errorf("namespaces alone (-want +got):\n%s", diff)
	}
}

// cells returns the columns SIZE and REVISION of a table of one artifact.
func cells(t *testing.T, a view.Artifact) (size, revision string) {
	t.Helper()
	a.Name, a.Namespace = "n", "ns"
	_, row, _ := strings.Cut(printed(t, view.Report{Artifacts: []view.Artifact{a}}, view.Table), "\n")
	columns := strings.Fields(row)
	return columns[3] + " " + columns[4], columns[5]
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB",
		1<<20 - 1: "1.0 MiB", 1 << 20: "1.0 MiB", 1<<20 - 100: "1023.9 KiB", 5 << 30: "5.0 GiB",
		1 << 40: "1.0 TiB", math.MaxInt64: "8388608.0 TiB",
	} {
		if got, _ := cells(t, view.Artifact{Size: n, Revision: "-"}); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestShortRevision(t *testing.T) {
	const hex = "0123456789abcdef0123456789abcdef"
	for revision, want := range map[string]string{
		"latest@sha256:" + hex:    "latest@sha256:0123456789ab",
		"main@sha1:" + hex:        "main@sha1:0123456789ab",
		"sha256:" + hex:           "sha256:0123456789ab",
		"main@sha1:0123":          "main@sha1:0123",
		"6.5.0":                   "6.5.0",
		hex:                       hex,
		"odd:not-a-digest-at-all": "odd:not-a-digest-at-all",
	} {
		if _, got := cells(t, view.Artifact{Revision: revision}); got != want {
			t.Errorf("%s: %q, want %q", revision, got, want)
		}
	}
}

func TestErrorOf(t *testing.T) {
	plain := errors.New("plain")
	stalled := fail.Stalled("Spec", "stalled")
	retried := fail.Retried("Build", "retried")
	for name, c := range map[string]struct {
		errs []error
		want *view.Error
	}{
		"none":                {nil, nil},
		"nil":                 {[]error{nil}, nil},
		"without a reason":    {[]error{plain}, &view.Error{Reason: "Other", Message: "plain"}},
		"with one":            {[]error{retried}, &view.Error{Reason: "Build", Message: "retried"}},
		"wrapped":             {[]error{fmt.Errorf("a: %w", stalled)}, &view.Error{Reason: "Spec", Stalled: true, Message: "a: stalled"}},
		"all stalled":         {[]error{stalled, stalled}, &view.Error{Reason: "Spec", Stalled: true, Message: "stalled; stalled"}},
		"some may be retried": {[]error{stalled, nil, retried, plain}, &view.Error{Reason: "Build", Message: "stalled; retried; plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, view.ErrorOf("Other", c.errs...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestClosed tells of a stream that takes nothing.
func TestClosed(t *testing.T) {
	for _, f := range []view.Format{view.Table, view.JSON, view.YAML} {
		r := full()
		if err := r.Print(closed{}, f); !errors.Is(err, errClosed) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

var errClosed = errors.New("closed")

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errClosed }
