package kind_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/cli/kind"
	"github.com/weir-dev/weir/internal/fail"
)

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"ag": "artifactgenerator", "AG": "artifactgenerator", "artifactgenerator": "artifactgenerator",
		"artifactgenerators": "artifactgenerator", "ArtifactGenerator": "artifactgenerator",
		"artifactgenerators.source.extensions.fluxcd.io":         "artifactgenerator",
		"artifactgenerators.v1beta1.source.extensions.fluxcd.io": "artifactgenerator",
		"gtr": "globaltenantresource", "globaltenantresources": "globaltenantresource",
		"globaltenantresource.capsule.clastix.io": "globaltenantresource",
		"tr": "tenantresource", "TenantResource": "tenantresource",
		"tnt": "tenant", "tenants.v1beta2.capsule.clastix.io": "tenant",
	} {
		if k, err := kind.Find(name); err != nil || k.Singular != want {
			t.Errorf("%q: %q, %v", name, k.Singular, err)
		}
	}
	for _, name := range []string{"", "a", "pods", "artifactgenerators.example.com", "globaltenantresources.source.extensions.fluxcd.io"} {
		if _, err := kind.Find(name); err == nil || !strings.Contains(err.Error(), "artifactgenerators (ag)") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestNames: no name means two kinds.
func TestNames(t *testing.T) {
	of := map[string]string{}
	for _, k := range kind.All() {
		for _, name := range append([]string{k.Singular, k.Resource.Resource}, k.Short...) {
			if other, ok := of[name]; ok {
				t.Errorf("%q means %s and %s", name, other, k.Singular)
			}
			of[name] = k.Singular
		}
	}
}

// TestFailed: the number of failures is read from the message that a result
// makes, for the status has no field for it.
func TestFailed(t *testing.T) {
	for failed, built := range map[int]int{0: 3, 1: 0, 2: 1, 40: 1000} {
		r := build.Result{Artifacts: make([]build.Artifact, built)}
		for i := range failed {
			r.Failures = append(r.Failures, build.Failure{
				Subject: fmt.Sprintf("apps/a%d", i), Err: fail.Retried("BuildFailed", "%w", errors.New("broken"))})
		}
		ready := map[string]any{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "fine"}
		if err := r.Err(); err != nil {
			ready = map[string]any{"type": "Ready", "status": "False", "reason": "BuildFailed", "message": err.Error()}
		}
		if got, want := cells(t, ready)["FAILED"], strconv.Itoa(failed); got != want {
			t.Errorf("%d failed of %d: the column says %q", failed, failed+built, got)
		}
	}
	for _, message := range []string{"source \"repo\": not found", "3 failed", ""} {
		ready := map[string]any{"type": "Ready", "status": "False", "reason": "SourceFetchFailed", "message": message}
		if got := cells(t, ready)["FAILED"]; got != "-" {
			t.Errorf("%q: the column says %q", message, got)
		}
	}
}

// TestUnreadable: an object that is not as its API says is an error with its
// name.
func TestUnreadable(t *testing.T) {
	for _, k := range kind.All() {
		o := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "apps", "name": "odd"}, "status": "fine"}}
		if _, err := k.Row(o, time.Time{}); err == nil || !strings.Contains(err.Error(), "apps/odd") {
			t.Errorf("%s: %v", k.Singular, err)
		}
	}
}

// TestCordoned: what is known of a replication that is suspended is about the
// spec before, and is told as that.
func TestCordoned(t *testing.T) {
	ready := map[string]any{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "reconciled", "observedGeneration": int64(1)}
	row := rowOf(t, "tr", map[string]any{
		"metadata": map[string]any{"generation": int64(2)}, "spec": map[string]any{"cordoned": true},
		"status": map[string]any{"conditions": []any{ready}},
	})
	if row["READY"] != "True" || row["STATUS"] != "cordoned; before: reconciled" {
		t.Errorf("the row says %v", row)
	}
}

// TestHandled: a controller answers a request by a field, or by taking it off.
func TestHandled(t *testing.T) {
	for name, objects := range map[string]map[bool]map[string]any{
		"ag": {
			true:  {"status": map[string]any{"lastHandledReconcileAt": "now"}},
			false: {"status": map[string]any{"lastHandledReconcileAt": "before"}},
		},
		"gtr": {
			true:  {"metadata": map[string]any{}},
			false: {"metadata": map[string]any{"annotations": map[string]any{"reconcile.projectcapsule.dev/requestedAt": "later"}}},
		},
	} {
		k, err := kind.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for want, o := range objects {
			if got := k.Handled(&unstructured.Unstructured{Object: o}, "now"); got != want {
				t.Errorf("%s: %v: handled is %t", name, o, got)
			}
		}
	}
}

// TestActive: what can be asked of a kind is all or nothing.
func TestActive(t *testing.T) {
	for _, k := range kind.All() {
		active := k.Request != ""
		for what, has := range map[string]bool{
			"Handled": k.Handled != nil, "Suspended": k.Suspended != nil,
			"Suspend": len(k.Suspend.Annotations)+len(k.Suspend.Spec) > 0, "Resume": len(k.Resume.Annotations)+len(k.Resume.Spec) > 0,
		} {
			if has != active {
				t.Errorf("%s: Request is %q, and that it has %s is %t", k.Singular, k.Request, what, has)
			}
		}
	}
}

// cells returns the row of a generator with a condition, by header.
func cells(t *testing.T, condition map[string]any) map[string]string {
	t.Helper()
	return rowOf(t, "ag", map[string]any{"status": map[string]any{"conditions": []any{condition}}})
}

// rowOf returns the row of an object, by header.
func rowOf(t *testing.T, name string, object map[string]any) map[string]string {
	t.Helper()
	k, err := kind.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	row, err := k.Row(&unstructured.Unstructured{Object: object}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(len(k.Columns), len(row)); diff != "" {
		t.Fatalf("columns and cells (-want +got):\n%s", diff)
	}
	out := map[string]string{}
	for i, c := range k.Columns {
		out[c.Header] = row[i]
	}
	return out
}
