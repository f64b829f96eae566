package app

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// mebibytes returns a line of /proc/PID/status, such as VmRSS.
func (r *replica) mebibytes(line string) int {
	r.t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		r.t.Skip(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), line+":"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				r.t.Fatal(err)
			}
			return kib >> 10
		}
	}
	r.t.Fatalf("no line %s", line)
	return 0
}

// An idle controller needs little, and not much more when it has made an
// artifact of each of more than a thousand directories, if there is an archive
// with them.
func TestMemory(t *testing.T) {
	const idle = 60
	w := newWorld(t)
	r := w.start(t, "127.0.7.6", t.TempDir(), "--replications=true")
	r.await(r.has(`weir_storage_address_reached 1`))
	n := r.mebibytes("VmRSS")
	t.Logf("idle: %d MiB, of which %d MiB are no files", n, r.mebibytes("RssAnon"))
	if n > idle && !isRace() {
		t.Errorf("an idle controller needs %d MiB", n)
	}
	data, err := os.ReadFile(os.Getenv("WEIR_BENCH_DATA"))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	g := w.monorepo(t, data)
	start := time.Now()
	r.await(func() error {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(g), g); err != nil {
			return err
		}
		for _, c := range g.Status.Conditions {
			if c.Type == "Ready" && c.Status == metav1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("not ready: %+v", g.Status.Conditions)
	})
	t.Logf("%d artifacts in %s: %d MiB, of which %d MiB are no files; %d MiB at most", len(g.Status.Inventory), time.Since(start).Round(time.Millisecond),
		r.mebibytes("VmRSS"), r.mebibytes("RssAnon"), r.mebibytes("VmHWM"))
}

// isRace reports whether the program is watched by the race detector, which
// needs more memory than it.
func isRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// monorepo makes a generator of a tarball with a directory for each tenant.
func (w *world) monorepo(t *testing.T, data []byte) *v1beta1.ArtifactGenerator {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(data) }))
	t.Cleanup(srv.Close)
	sum := sha256.Sum256(data)
	source := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "repo"},
		Spec:       sourcev1.GitRepositorySpec{URL: "https://example.org/repo", Interval: metav1.Duration{Duration: time.Hour}},
	}
	if err := w.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	size := int64(len(data))
	source.Status = sourcev1.GitRepositoryStatus{
		ObservedGeneration: source.Generation,
		Conditions: []metav1.Condition{{
			Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: "Succeeded", LastTransitionTime: metav1.Now(), ObservedGeneration: source.Generation,
		}},
		Artifact: &meta.Artifact{
			Path: "repo.tar.gz", URL: srv.URL + "/repo.tar.gz", Revision: "main@sha1:" + strings.Repeat("1", 40), Digest: "sha256:" + hex.EncodeToString(sum[:]),
			Size: &size, LastUpdateTime: metav1.Now(),
		},
	}
	if err := w.Status().Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	g := &v1beta1.ArtifactGenerator{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "tenants"},
		Spec: v1beta1.ArtifactGeneratorSpec{
			Sources:     []v1beta1.Source{{Alias: "repo", Kind: "GitRepository", Name: "repo"}},
			PathPattern: "@repo/tenants/{tenant}",
			Artifacts:   []v1beta1.Artifact{{Name: "{tenant}", Copy: []v1beta1.Copy{{From: "@repo/tenants/{tenant}/**", To: "@artifact/"}}}},
		},
	}
	if err := w.Create(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	return g
}
