package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/metrics"
	"github.com/weir-dev/weir/internal/relay"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/internal/store/storetest"
	"github.com/weir-dev/weir/internal/testcluster"
)

var shared testcluster.Shared

// program, in the environment, makes the test the program that it tests.
const program = "WEIR_CONTROLLER"

func TestMain(m *testing.M) {
	if os.Getenv(program) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := Program{Version: "test"}.Run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	os.Exit(shared.Run(m))
}

// world is a cluster that knows the kinds, and a namespace in it for programs.
type world struct {
	*testcluster.Cluster
	client.Client
	namespace string
}

var installed sync.Once

func newWorld(t *testing.T) *world {
	t.Helper()
	cluster := shared.Cluster(t)
	installed.Do(func() {
		_, err := envtest.InstallCRDs(cluster.Admin(), envtest.CRDInstallOptions{Paths: []string{
			"../../config/crd", "../../test/e2e/testdata/crds",
		}})
		if err != nil {
			t.Fatal(err)
		}
	})
	o, _, err := optioned(t)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Cluster: cluster, namespace: cluster.Namespace(t)}
	if w.Client, err = client.New(cluster.Admin(), client.Options{Scheme: o.manager.Scheme}); err != nil {
		t.Fatal(err)
	}
	may := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: name}},
	}
	if err := w.Create(t.Context(), may); err != nil {
		t.Fatal(err)
	}
	return w
}

// replica is a running program.
type replica struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string // of the store
	host string
	log  string // a file
	done chan struct{}
}

// start returns a program that is ready, on a loopback address of its own. It
// watches the world's namespace alone, and leaves out replications: there is one
// set of admission policies in the cluster, which lets through one program.
func (w *world) start(t *testing.T, host, dir string, flags ...string) *replica {
	t.Helper()
	r := &replica{t: t, dir: dir, host: host, log: filepath.Join(t.TempDir(), "log"), done: make(chan struct{})}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r.cmd = exec.Command(self, append([]string{
		"--watch-all-namespaces=false", "--replications=false", "--storage-path=" + dir, "--storage-addr=" + host + ":9090",
		"--metrics-addr=" + host + ":8080", "--health-addr=" + host + ":9440",
	}, flags...)...)
	r.cmd.Env = []string{program + "=1", "KUBECONFIG=" + w.Kubeconfig(t, w.ServiceAccount(t, w.namespace, name)), "RUNTIME_NAMESPACE=" + w.namespace, "TMPDIR=" + t.TempDir()}
	r.cmd.Stdout, r.cmd.Stderr = out, out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(r.done); _ = r.cmd.Wait() }()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.done
		if data, err := os.ReadFile(r.log); err == nil && t.Failed() {
			t.Logf("the log of %s:\n%s", host, data)
		}
	})
	r.await(func() error { return r.ok(":9440/readyz") })
	return r
}

// stop asks the program to end and waits until it has.
func (r *replica) stop() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	<-r.done
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		r.t.Errorf("exit status %d", code)
	}
}

func (r *replica) get(at string) (int, string, error) {
	res, err := http.Get("http://" + r.host + at)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

func (r *replica) ok(at string) error {
	code, body, err := r.get(at)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %s", at, code, body)
	}
	return err
}

// metrics returns the lines of /metrics.
func (r *replica) metrics() []string {
	r.t.Helper()
	code, body, err := r.get(":8080/metrics")
	if err != nil || code != http.StatusOK {
		r.t.Fatalf("/metrics: %d, %v", code, err)
	}
	return strings.Split(body, "\n")
}

func (r *replica) has(line string) func() error {
	return func() error {
		all := r.metrics()
		if slices.ContainsFunc(all, func(l string) bool { return strings.HasPrefix(l, line) }) {
			return nil
		}
		return fmt.Errorf("/metrics has no line %s", line)
	}
}

// await waits until there is no error any more.
func (r *replica) await(try func() error) {
	r.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-r.done:
			r.t.Fatal("the program has ended")
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			r.t.Fatal(err)
		}
	}
}

func (w *world) generator(t *testing.T, name string) *v1beta1.ArtifactGenerator {
	t.Helper()
	g := &v1beta1.ArtifactGenerator{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: v1beta1.ArtifactGeneratorSpec{
			Sources:   []v1beta1.Source{{Alias: "s", Kind: "GitRepository", Name: "missing"}},
			Artifacts: []v1beta1.Artifact{{Name: "a", Copy: []v1beta1.Copy{{From: "@s/**", To: "@artifact/"}}}},
		},
	}
	if err := w.Create(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	return g
}

// What a running program tells of itself, and that what it tells of an object
// ends with the object.
func TestProgramTellsOfItself(t *testing.T) {
	w := newWorld(t)
	audit := w.Audit(t)
	told := make(chan eventv1.Event, 100)
	alerts := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e eventv1.Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		told <- e
	}))
	defer alerts.Close()
	r := w.start(t, "127.0.7.1", t.TempDir(), "--events-addr="+alerts.URL)
	g := w.generator(t, "app")
	id := fmt.Sprintf(`kind="ArtifactGenerator",name="app",namespace=%q`, w.namespace)
	for _, line := range []string{
		fmt.Sprintf(`gotk_reconcile_condition{%s,status="False",type="Ready"} 1`, id),
		fmt.Sprintf(`gotk_reconcile_duration_seconds_count{%s} `, id),
		fmt.Sprintf(`gotk_suspend_status{%s} 0`, id),
		`weir_step_duration_seconds_count{step="observe"} `,
		`weir_source_downloads_total{result="failure"} 0`,
		`weir_storage_address_reached 1`,
		`weir_storage_artifacts 0`,
		`weir_artifact_requests_total{code="200"} 1`, // the beacon's
		`controller_runtime_reconcile_total{controller="artifactgenerator"`,
	} {
		r.await(r.has(line))
	}
	if e := <-told; e.InvolvedObject.Kind != "ArtifactGenerator" || e.InvolvedObject.UID != g.UID || e.Severity != "error" ||
		e.Reason != v1beta1.ReasonSourceFetchFailed || e.ReportingController != name {
		t.Errorf("alerts are told %+v", e)
	}
	lint(t, strings.Join(r.metrics(), "\n"))
	for _, at := range []string{":9440/healthz", ":9440/readyz", ":8080/debug/pprof/", ":8080/debug/pprof/heap"} {
		if err := r.ok(at); err != nil {
			t.Error(err)
		}
	}
	if err := w.Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.await(func() error {
		for _, line := range r.metrics() {
			if strings.Contains(line, id) {
				return fmt.Errorf("a generator that is gone still has %s", line)
			}
		}
		return nil
	})
	r.stop()
	// Nothing but what it works with was read, and neither by informers.
	asked := map[string]bool{}
	for _, e := range audit.Events(t, testcluster.Query{Agent: name}) {
		asked[e.Resource] = true
	}
	if !asked["artifactgenerators"] || asked["secrets"] || asked["configmaps"] {
		t.Errorf("the program asked for %v", slices.Sorted(maps.Keys(asked)))
	}
	log, err := os.ReadFile(r.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"controller":"artifactgenerator"`, fmt.Sprintf(`"namespace":%q,"name":"app"`, w.namespace)} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the log has no %s", want)
		}
	}
}

// lint judges the names of the metrics that are the program's own.
func lint(t *testing.T, text string) {
	t.Helper()
	var own strings.Builder
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(metrics.Table(), func(m metrics.Metric) bool { return strings.Contains(line, m.Name) }) {
			own.WriteString(line)
		}
	}
	problems, err := promlint.New(strings.NewReader(own.String())).Lint()
	if err != nil || len(problems) > 0 || own.Len() == 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// Both replicas are ready and answer with what the leader has; the other takes
// over when it ends.
func TestReplicas(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	disk, err := store.OpenDisk(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := storetest.Put(t, disk, types.NamespacedName{Namespace: w.namespace, Name: "a"}, storetest.Tree(t, map[string]string{"f": "x"}))
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--enable-leader-election", "--artifact-retention-ttl=1h", "--leader-election-retry-period=200ms"}
	leader := w.start(t, "127.0.7.2", dir, flags...)
	leader.await(leader.has("weir_storage_artifacts 1"))
	w.generator(t, "app")
	series := fmt.Sprintf(`gotk_reconcile_condition{kind="ArtifactGenerator",name="app",namespace=%q,status="False",type="Ready"} 1`, w.namespace)
	leader.await(leader.has(series))
	standby := w.start(t, "127.0.7.3", t.TempDir(), flags...)
	if err := standby.has(series)(); err == nil {
		t.Error("an object is counted by a replica that does not lead")
	}
	file := ":9090/" + a.Path
	_, want, err := leader.get(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*replica{leader, standby} {
		if code, body, err := r.get(file); err != nil || code != 200 || body != want || len(body) != int(a.Size) {
			t.Errorf("%s: %d with %d bytes, %v", r.host, code, len(body), err)
		}
	}
	if got := w.holder(t); got != leader.host+":9090" {
		t.Errorf("%q leads", got)
	}
	leader.stop()
	standby.await(standby.has(series))
	if got := w.holder(t); got != standby.host+":9090" {
		t.Errorf("%q leads", got)
	}
	// It answers for itself now: it has not made the artifact.
	if code, _, err := standby.get(file); err != nil || code != http.StatusNotFound {
		t.Errorf("%d, %v", code, err)
	}
}

// holder returns the address of the replica that leads.
func (w *world) holder(t *testing.T) string {
	t.Helper()
	var lease coordinationv1.Lease
	if err := w.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: leaderName("")}, &lease); err != nil {
		t.Fatal(err)
	}
	return relay.Address(*lease.Spec.HolderIdentity)
}

// Shards work side by side, each on its own generators.
func TestShards(t *testing.T) {
	w := newWorld(t)
	one := w.start(t, "127.0.7.4", t.TempDir(), "--enable-leader-election", "--watch-label-selector=shard=one")
	rest := w.start(t, "127.0.7.5", t.TempDir(), "--enable-leader-election", "--watch-label-selector=shard!=one")
	g := w.generator(t, "mine")
	condition := func(name string) string {
		return fmt.Sprintf(`gotk_reconcile_condition{kind="ArtifactGenerator",name=%q,namespace=%q,status="False",type="Ready"} 1`, name, w.namespace)
	}
	rest.await(rest.has(condition("mine")))
	if err := one.has(condition("mine"))(); err == nil {
		t.Error("a shard works on another's generator")
	}
	moved := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"shard":"one"}}}`))
	if err := w.Patch(t.Context(), g, moved); err != nil {
		t.Fatal(err)
	}
	one.await(one.has(condition("mine")))
	rest.await(func() error {
		if rest.has(condition("mine"))() == nil {
			return errors.New("a generator is still counted by the shard that it left")
		}
		return nil
	})
}
