package app

import (
	"bytes"
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, env map[string]string, args ...string) (*Config, error) {
	t.Helper()
	var c Config
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.Flags(fs, func(name string) string { return env[name] })
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return &c, c.check()
}

func TestDefaultsAreFluxs(t *testing.T) {
	c, err := parse(t, map[string]string{"STORAGE_ADV_ADDR": "weir.svc"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Concurrent != 10 || c.Timeout != 10*time.Minute || c.Fetch.Wait != 5*time.Second || c.JitterPercent != 5 ||
		c.MinRetryDelay != 750*time.Millisecond || c.MaxRetryDelay != 15*time.Minute || c.Storage.Path != "/data" ||
		c.Storage.TTL != time.Minute || c.Storage.Records != 2 || c.Storage.AdvAddr != "weir.svc" ||
		c.Leader != (Leader{Release: true, Lease: 35 * time.Second, Renew: 30 * time.Second, RetryTime: 5 * time.Second}) {
		t.Errorf("%+v", c)
	}
}

func TestFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string // of the error
	}{
		"gate":             {args: []string{"--feature-gates=SourceRootGlobs=true"}},
		"no such gate":     {args: []string{"--feature-gates=Nope=true"}, want: `no gate is called "Nope"`},
		"half a gate":      {args: []string{"--feature-gates=SourceRootGlobs"}, want: "want true or false"},
		"no workers":       {args: []string{"--concurrent=0"}, want: "--concurrent"},
		"bad selector":     {args: []string{"--watch-label-selector=a==b==c"}, want: "--watch-label-selector"},
		"one namespace":    {args: []string{"--watch-all-namespaces=false"}, want: "RUNTIME_NAMESPACE"},
		"bad address":      {args: []string{"--storage-addr=nowhere"}, want: "--storage-addr"},
		"derived address":  {args: []string{"--storage-addr=127.0.0.1:1"}},
		"too much jitter":  {args: []string{"--interval-jitter-percentage=101"}, want: "--interval-jitter"},
		"negative retries": {args: []string{"--http-retry=-1"}, want: "http-retry"},
	} {
		_, err := parse(t, nil, c.args...)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMainRefusesWrongFlags(t *testing.T) {
	for _, args := range [][]string{{"--nope"}, {"extra"}, {"--log-level=loud"}, {"--log-encoding=xml"}} {
		var out bytes.Buffer
		if code := Main(t.Context(), args, func(string) string { return "" }, "test", &out); code != 2 || out.Len() == 0 {
			t.Errorf("%q: exit status %d, output %q", args, code, out.String())
		}
	}
	if code := Main(t.Context(), []string{"-h"}, func(string) string { return "" }, "test", io.Discard); code != 0 {
		t.Errorf("-h: exit status %d", code)
	}
}

func TestShardsHaveLeasesOfTheirOwn(t *testing.T) {
	if leaderName("") == leaderName("a=b") || leaderName("a=b") == leaderName("a=c") {
		t.Error("shards share a lease")
	}
}
