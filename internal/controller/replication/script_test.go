package replication_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/account"
	"github.com/weir-dev/weir/internal/controller/replication"
	"github.com/weir-dev/weir/internal/controller/sight"
	"github.com/weir-dev/weir/internal/controller/tenant"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/testcluster"
)

var (
	shared testcluster.Shared
	// stop ends the controller, if it was started.
	stop = func() {}
)

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard())
	code := shared.Run(m)
	stop()
	os.Exit(code)
}

// TestScripts plays the scripts of testdata, and those of WEIR_E2E_SCRIPTS that
// are about replications, against the engine in this process. Names in a script
// begin with its own, so that all run at the same time.
func TestScripts(t *testing.T) {
	cluster := shared.Cluster(t)
	start(t, cluster)
	kubeconfig := cluster.Kubeconfig(t, cluster.Admin())
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no scripts, error %v", err)
	}
	if dir := os.Getenv("WEIR_E2E_SCRIPTS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "r[0-9]*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: func(e *testscript.Env) error {
			e.Setenv("KUBECONFIG", kubeconfig)
			e.Setenv("PATH", cluster.Bin()+string(os.PathListSeparator)+os.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"eventually": eventually},
	})
}

// eventually runs a program until it ends with success and its output matches.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	flags := flag.NewFlagSet("eventually", flag.ContinueOnError)
	within := flags.Duration("t", time.Minute, "how long")
	match := flags.String("match", "", "what the output must match")
	not := flags.String("not", "", "what the output must not match")
	ts.Check(flags.Parse(args))
	ctx, cancel := context.WithTimeout(context.Background(), *within)
	defer cancel()
	for {
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(ctx, flags.Arg(0), flags.Args()[1:]...)
		cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "KUBECONFIG="+ts.Getenv("KUBECONFIG"), "PATH="+ts.Getenv("PATH"))
		cmd.Path = lookPath(ts, flags.Arg(0))
		cmd.Err = nil
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		text := strings.TrimRight(out.String(), "\n")
		if err == nil && matches(*match, text) && (*not == "" || !matches(*not, text)) {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("did not happen within %s: %v\n%s%s", *within, err, &out, &errs)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func lookPath(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, name); isFile(p) {
			return p
		}
	}
	return name
}

func isFile(path string) bool {
	i, err := os.Stat(path)
	return err == nil && !i.IsDir()
}

func matches(pattern, text string) bool {
	return regexp.MustCompile("(?m)" + pattern).MatchString(text)
}

var started sync.Once

// start runs the engine as a controller does, once for all tests.
func start(t *testing.T, cluster *testcluster.Cluster) {
	t.Helper()
	started.Do(func() {
		if err := run(cluster); err != nil {
			t.Fatal(err)
		}
	})
}

func run(cluster *testcluster.Cluster) error {
	config := cluster.Admin()
	config.Wrap(held.wrap)
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{
		"../../../config/crd/capsule.clastix.io_globaltenantresources.yaml",
		"../../../config/crd/capsule.clastix.io_tenantresources.yaml",
		"../../../config/crd/capsule.clastix.io_tenants.yaml",
	}}); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta2.AddToScheme(scheme)); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:  client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	options := client.Options{Scheme: scheme, Mapper: mgr.GetRESTMapper()}
	direct, err := client.New(config, options)
	if err != nil {
		return err
	}
	managed, err := labels.Parse(v1beta2.LabelManagedBy)
	if err != nil {
		return err
	}
	targets, err := cache.New(config, cache.Options{Scheme: scheme, Mapper: mgr.GetRESTMapper(), DefaultLabelSelector: managed, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return err
	}
	if err := mgr.Add(targets); err != nil {
		return err
	}
	see := &sight.Sight{Options: sight.Options{Sources: mgr.GetCache(), Targets: targets, Direct: direct, Now: time.Now}}
	engine := replication.New(replication.Options{
		Client: mgr.GetClient(), Direct: direct, Tenants: mgr.GetCache(), Sight: see,
		Accounts: &account.Clients{Config: config, Options: options},
		Own:      types.NamespacedName{Namespace: "weir-system", Name: "weir-controller"},
		Events:   silent{},
	})
	see.Changed = engine.Changed
	if err := engine.Watch(mgr, controller.Options{
		MaxConcurrentReconciles: 4,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](100*time.Millisecond, 2*time.Second),
	}); err != nil {
		return err
	}
	tenants := &tenant.Reconciler{Cache: mgr.GetCache(), Direct: direct}
	if err := tenants.Watch(mgr, controller.Options{}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return nil
}

type silent struct{}

func (silent) Record(client.Object, loop.Event) {}
