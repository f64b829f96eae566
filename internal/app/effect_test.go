package app

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// optioned returns what flags come to in a pod, and what was logged.
func optioned(t *testing.T, args ...string) (*options, *bytes.Buffer, error) {
	t.Helper()
	var c Config
	var logs bytes.Buffer
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(fs, inPod)
	if err := parse(fs, args, &logs); err != nil {
		return nil, nil, err
	}
	o, err := c.options(&logs)
	return o, &logs, err
}

// effect is how to see that a flag does something.
type effect struct {
	args []string // with the flag set
	base []string // without; nil: no flags at all
	see  func(o *options, logs *bytes.Buffer) any
}

func sees(see func(*options) any, args ...string) effect {
	return effect{args, nil, func(o *options, _ *bytes.Buffer) any { return see(o) }}
}

// effects has every flag, and for gates NAME of --feature-gates.
var effects = map[string]effect{
	"concurrent":             sees(func(o *options) any { return o.manager.Controller.MaxConcurrentReconciles }, "--concurrent=3"),
	"metrics-addr":           sees(func(o *options) any { return o.manager.Metrics.BindAddress }, "--metrics-addr=0"),
	"health-addr":            sees(func(o *options) any { return o.manager.HealthProbeBindAddress }, "--health-addr=0"),
	"events-addr":            sees(func(o *options) any { return o.webhook.URL }, "--events-addr=http://notification-controller/"),
	"reconciliation-timeout": sees(func(o *options) any { return o.manager.Controller.ReconciliationTimeout }, "--reconciliation-timeout=1m"),
	"interval-jitter-percentage": sees(func(o *options) any {
		return slices.ContainsFunc(make([]int, 100), func(int) bool { return o.generators.Jitter(time.Hour) != time.Hour })
	}, "--interval-jitter-percentage=0"),
	"min-retry-delay": sees(func(o *options) any { return o.controller.RateLimiter.When(reconcile.Request{}) }, "--min-retry-delay=2s"),
	"max-retry-delay": sees(func(o *options) any {
		var last time.Duration
		for range 60 {
			last = o.controller.RateLimiter.When(reconcile.Request{})
		}
		return last
	}, "--max-retry-delay=2s"),
	"requeue-dependency": sees(func(o *options) any { return []time.Duration{o.generators.Wait, o.fetch.Wait} }, "--requeue-dependency=1s"),
	"kube-api-qps":       sees(func(o *options) any { return limit(o) != nil }, "--kube-api-qps=7"),
	"kube-api-burst": {[]string{"--kube-api-qps=0.001", "--kube-api-burst=3"}, []string{"--kube-api-qps=0.001"}, func(o *options, _ *bytes.Buffer) any {
		n := 0
		for limit(o).TryAccept() {
			n++
		}
		return n
	}},
	"feature-gates":     sees(func(o *options) any { return o.direct }, "--feature-gates=DirectSourceFetch=true"),
	"DirectSourceFetch": sees(func(o *options) any { return o.direct }, "--feature-gates=DirectSourceFetch=true"),
	"SourceRootGlobs":   sees(func(o *options) any { return o.generators.Build.Compose.RootGlobs }, "--feature-gates=SourceRootGlobs=true"),

	"http-retry":        sees(func(o *options) any { return o.fetch.Retries }, "--http-retry=1"),
	"source-cache-size": sees(func(o *options) any { return o.fetch.CacheBytes }, "--source-cache-size=1Mi"),

	"storage-path":               sees(func(o *options) any { return o.directory }, "--storage-path=/elsewhere"),
	"storage-addr":               sees(func(o *options) any { return []string{o.listen, strings.Split(o.identity, "_")[0]} }, "--storage-addr=:1"),
	"storage-adv-addr":           sees(func(o *options) any { return []string{o.url("x"), o.keep.URL("x"), o.generators.URL("x")} }, "--storage-adv-addr=other.svc"),
	"artifact-digest-algo":       sees(func(o *options) any { return o.store.Digest }, "--artifact-digest-algo=sha512"),
	"artifact-retention-ttl":     sees(func(o *options) any { return o.keep.TTL }, "--artifact-retention-ttl=1s"),
	"artifact-retention-records": sees(func(o *options) any { return o.keep.Records }, "--artifact-retention-records=7"),

	"no-cross-namespace-refs": sees(func(o *options) any { return o.generators.Recipe.NoCrossNamespaceRefs }, "--no-cross-namespace-refs"),
	"default-service-account": sees(func(o *options) any { return o.generators.Recipe.DefaultServiceAccount }, "--default-service-account=tenant"),
	"override-manager":        sees(func(o *options) any { return o.generators.Overrides }, "--override-manager=a", "--override-manager=b"),

	"watch-all-namespaces": sees(func(o *options) any { return slices.Collect(maps.Keys(o.manager.Cache.DefaultNamespaces)) }, "--watch-all-namespaces=false"),
	"watch-label-selector": sees(func(o *options) any {
		var all []string
		for _, by := range o.manager.Cache.ByObject {
			all = append(all, by.Label.String())
		}
		return append(all, o.lease.String())
	}, "--watch-label-selector=a=b"),
	"watch-configs-label-selector": sees(func(o *options) any { return o.notes }, "--watch-configs-label-selector=a=b"),

	"replications":                   sees(func(o *options) any { return o.replicate.On }, "--replications=false"),
	"global-default-service-account": sees(func(o *options) any { return o.replicate.Defaults.Global }, "--global-default-service-account=a/b"),
	"tenant-default-service-account": sees(func(o *options) any { return o.replicate.Defaults.Tenant }, "--tenant-default-service-account=b"),
	"tenant-controller":              sees(func(o *options) any { return o.replicate.Tenants }, "--tenant-controller=off"),
	"protection":                     sees(func(o *options) any { return o.replicate.Protection }, "--protection=none"),
	"protection-exempt":              sees(func(o *options) any { return o.replicate.Exempt }, "--protection-exempt=system:admin"),

	"enable-leader-election":            sees(func(o *options) any { return o.manager.LeaderElection }, "--enable-leader-election"),
	"leader-election-release-on-cancel": sees(func(o *options) any { return o.manager.LeaderElectionReleaseOnCancel }, "--leader-election-release-on-cancel=false"),
	"leader-election-lease-duration":    sees(func(o *options) any { return *o.manager.LeaseDuration }, "--leader-election-lease-duration=40s"),
	"leader-election-renew-deadline":    sees(func(o *options) any { return *o.manager.RenewDeadline }, "--leader-election-renew-deadline=20s"),
	"leader-election-retry-period":      sees(func(o *options) any { return *o.manager.RetryPeriod }, "--leader-election-retry-period=1s"),

	"log-level": {[]string{"--log-level=debug"}, nil, func(o *options, logs *bytes.Buffer) any {
		o.log.V(1).Info("fine")
		return logs.Len() > 0
	}},
	"log-encoding": {[]string{"--log-encoding=console"}, nil, func(o *options, logs *bytes.Buffer) any {
		o.log.Info("all")
		return logs.String()[0]
	}},
}

// limit returns what limits requests to the API server.
func limit(o *options) flowcontrol.RateLimiter {
	kube := &rest.Config{}
	o.connect(kube)
	return kube.RateLimiter
}

// The lease is renewed however many requests wait.
func TestLeaseIsNotLimited(t *testing.T) {
	o, _, err := optioned(t, "--kube-api-qps=1")
	if err != nil {
		t.Fatal(err)
	}
	kube := &rest.Config{}
	o.connect(kube)
	if u := unlimited(kube); kube.RateLimiter == nil || u.RateLimiter != nil || u.QPS >= 0 {
		t.Errorf("%v, %v", kube, u)
	}
}

// A flag that is bound but not applied is worse than none. Whoever adds one adds
// how its effect is seen.
func TestEveryFlagHasAnEffect(t *testing.T) {
	var c Config
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(fs, func(string) string { return "" })
	flags, _ := c.Gates.names()
	fs.VisitAll(func(f *flag.Flag) { flags = append(flags, f.Name) })
	for _, name := range flags {
		e, ok := effects[name]
		if !ok {
			t.Errorf("--%s: nobody says what its effect is", name)
			continue
		}
		was, logs, err := optioned(t, e.base...)
		if err != nil {
			t.Fatalf("%q: %v", e.base, err)
		}
		before := e.see(was, logs)
		is, logs, err := optioned(t, e.args...)
		if err != nil {
			t.Fatalf("%q: %v", e.args, err)
		}
		if after := e.see(is, logs); cmp.Equal(before, after) {
			t.Errorf("%q has no effect: still %v", e.args, after)
		}
	}
	for name := range effects {
		if !slices.Contains(flags, name) {
			t.Errorf("there is no flag or gate %s", name)
		}
	}
}

// What flags come to is of use only if the parts are made with it.
func TestEveryOptionIsTaken(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]bool{}
	for _, file := range files {
		if file == "options.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := s.X.(*ast.Ident); ok && (of.Name == "o" || of.Name == "p") {
					taken[s.Sel.Name] = true
				}
			}
			return true
		})
	}
	for f := range reflect.TypeFor[options]().Fields() {
		if !taken[f.Name] {
			t.Errorf("option %s is not taken", f.Name)
		}
	}
}
