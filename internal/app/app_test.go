package app

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/relay"
)

func TestDefaultsAreFluxs(t *testing.T) {
	var c Config
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(fs, func(string) string { return "" })
	if err := parse(fs, nil, io.Discard); err != nil {
		t.Fatal(err)
	}
	if c.Concurrent != 10 || c.Timeout != 10*time.Minute || c.Fetch.Wait != 5*time.Second || c.JitterPercent != 5 ||
		c.MinRetryDelay != 750*time.Millisecond || c.MaxRetryDelay != 15*time.Minute || c.Storage.Path != "/data" ||
		c.Storage.TTL != time.Minute || c.Storage.Records != 2 || c.Storage.Algorithm != "sha256" || !c.Watch.AllNamespaces ||
		c.Leader != (Leader{Release: true, Lease: 35 * time.Second, Renew: 30 * time.Second, RetryTime: 5 * time.Second}) {
		t.Errorf("%+v", c)
	}
}

// inPod is the environment of a pod.
func inPod(name string) string {
	return map[string]string{"RUNTIME_NAMESPACE": "weir-system", "STORAGE_ADV_ADDR": "weir.svc", "POD_IP": "10.0.0.1"}[name]
}

// What is wrong is told with the name of the flag.
func TestWrongFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string // of the error
	}{
		"unknown":            {[]string{"--nope=1"}, "unknown flag --nope; --help lists"},
		"an argument":        {[]string{"--watch-all-namespaces", "false"}, `unexpected argument "false"; flags are written --name=value`},
		"no number":          {[]string{"--concurrent=x"}, `invalid value "x" for flag --concurrent`},
		"no such gate":       {[]string{"--feature-gates=Nope=true"}, `no gate is called "Nope"; there are DirectSourceFetch and SourceRootGlobs`},
		"half a gate":        {[]string{"--feature-gates=SourceRootGlobs"}, "want true or false"},
		"no workers":         {[]string{"--concurrent=0"}, "--concurrent"},
		"no time":            {[]string{"--reconciliation-timeout=0"}, "--reconciliation-timeout"},
		"delays":             {[]string{"--min-retry-delay=1h"}, "--max-retry-delay"},
		"no requests":        {[]string{"--kube-api-qps=0"}, "--kube-api-qps"},
		"bad selector":       {[]string{"--watch-label-selector=a==b==c"}, "--watch-label-selector"},
		"bad configs":        {[]string{"--watch-configs-label-selector=a==b==c"}, "--watch-configs-label-selector"},
		"bad address":        {[]string{"--storage-addr=nowhere"}, "--storage-addr"},
		"bad advertisement":  {[]string{"--storage-adv-addr=a b"}, "--storage-adv-addr"},
		"bad events":         {[]string{"--events-addr=notification-controller"}, "--events-addr"},
		"bad digest":         {[]string{"--artifact-digest-algo=md5"}, `--artifact-digest-algo: algorithm "md5"`},
		"too much jitter":    {[]string{"--interval-jitter-percentage=101"}, "--interval-jitter"},
		"negative retries":   {[]string{"--http-retry=-1"}, "http-retry"},
		"negative records":   {[]string{"--artifact-retention-records=-1"}, "--artifact-retention-records"},
		"bad account":        {[]string{"--default-service-account=A/b"}, "--default-service-account"},
		"no manager":         {[]string{"--override-manager="}, "--override-manager"},
		"lease and deadline": {[]string{"--enable-leader-election", "--leader-election-lease-duration=10s"}, "--leader-election-lease-duration"},
		"deadline and tries": {[]string{"--enable-leader-election", "--leader-election-retry-period=29s"}, "--leader-election-renew-deadline"},
		"R76 no namespace":   {[]string{"--global-default-service-account=a"}, "--global-default-service-account"},
		"R76 no name":        {[]string{"--global-default-service-account=a/"}, "--global-default-service-account"},
		"no account":         {[]string{"--global-default-service-account=a/B"}, "--global-default-service-account"},
		"no tenant account":  {[]string{"--tenant-default-service-account=a_b"}, "--tenant-default-service-account"},
		"tenant controller":  {[]string{"--tenant-controller=maybe"}, "--tenant-controller"},
		"protection":         {[]string{"--protection=webhook"}, "--protection"},
		"nobody exempt":      {[]string{"--protection-exempt="}, "--protection-exempt"},
		"level":              {[]string{"--log-level=loud"}, "--log-level"},
		"encoding":           {[]string{"--log-encoding=xml"}, "--log-encoding"},
	} {
		var out bytes.Buffer
		code := Program{}.Run(t.Context(), c.args, inPod, io.Discard, &out)
		if code != 2 || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit status %d, %q", name, code, out.String())
		}
	}
	var out bytes.Buffer
	if code := (Program{}).Run(t.Context(), []string{"--watch-all-namespaces=false", "--concurrent=0"}, func(string) string { return "" }, io.Discard, &out); code != 2 ||
		strings.Count(out.String(), "\n") != 2 || !strings.Contains(out.String(), "RUNTIME_NAMESPACE") {
		t.Errorf("exit status %d, %q", code, out.String())
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if code := (Program{}).Run(t.Context(), []string{"--help"}, func(string) string { return "" }, &out, io.Discard); code != 0 {
		t.Errorf("exit status %d", code)
	}
	for name := range effects {
		if want := "\n  --" + name + " "; strings.ToLower(name) == name && !strings.Contains(out.String(), want) {
			t.Errorf("help says nothing of --%s", name)
		}
	}
	if want := "  --concurrent int\n      how many generators, and how many replications of each kind, are reconciled at a time (default 10)\n"; !strings.Contains(out.String(), want) {
		t.Errorf("help is\n%s", out.String())
	}
}

// The environment gives defaults, and flags win.
func TestEnvironment(t *testing.T) {
	env := map[string]string{"STORAGE_PATH": "/a", "STORAGE_ADDR": ":1", "STORAGE_ADV_ADDR": "a.svc", "RUNTIME_NAMESPACE": "ns", "SERVICE_ACCOUNT": "sa", "POD_IP": "fd00::1"}
	var c Config
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(fs, func(name string) string { return env[name] })
	if err := parse(fs, []string{"--storage-path=/b"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	o, err := c.options(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.directory != "/b" || o.listen != ":1" || o.url("x") != "http://a.svc/x" || o.own.String() != "ns/sa" || o.lease.Namespace != "ns" ||
		relay.Address(o.identity) != "[fd00::1]:1" {
		t.Errorf("%+v", o)
	}
}

func TestShardsHaveLeasesOfTheirOwn(t *testing.T) {
	if leaderName("") == leaderName("a=b") || leaderName("a=b") == leaderName("a=c") {
		t.Error("shards share a lease")
	}
}

// Logs are read by machines that know Flux's.
func TestLogIsFluxs(t *testing.T) {
	o, logs, err := optioned(t)
	if err != nil {
		t.Fatal(err)
	}
	o.log.WithValues("controller", "artifactgenerator", "namespace", "apps", "name", "app").Info("done")
	var line map[string]any
	if err := json.Unmarshal(logs.Bytes(), &line); err != nil {
		t.Fatalf("%v: %q", err, logs)
	}
	for key, want := range map[string]any{"level": "info", "msg": "done", "controller": "artifactgenerator", "namespace": "apps", "name": "app"} {
		if line[key] != want {
			t.Errorf("%s: %v", key, line[key])
		}
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z0700", line["ts"].(string)); err != nil {
		t.Error(err)
	}
}
