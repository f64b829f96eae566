package app

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/weir-dev/weir/internal/fetch"
)

// Config is what the flags say. Its zero value is not useful: [Config.Flags]
// sets the defaults.
type Config struct {
	// Concurrent is how many generators are worked on at a time.
	Concurrent int
	// MetricsAddr and HealthAddr are where metrics and probes are answered; 0
	// means nowhere.
	MetricsAddr, HealthAddr string
	// Timeout bounds one pass over one generator.
	Timeout time.Duration
	// JitterPercent is how far intervals are spread, in percent.
	JitterPercent int
	// MinRetryDelay and MaxRetryDelay bound the back-off after failures.
	MinRetryDelay, MaxRetryDelay time.Duration
	// NoCrossNamespaceRefs refuses sources of other namespaces.
	NoCrossNamespaceRefs bool
	// SourceRootGlobs is the feature gate of that name.
	SourceRootGlobs bool

	Fetch   fetch.Options
	Storage Storage
	Watch   Watch
	Leader  Leader
	Log     Log

	// QPS and Burst limit requests to the API server. A QPS below zero leaves
	// that to the API server, which is fair to everyone.
	QPS   float64
	Burst int
}

// Storage is where artifacts are kept and served.
type Storage struct {
	// Path is the directory of the store.
	Path string
	// Addr is where artifacts are served, AdvAddr how consumers reach it.
	Addr, AdvAddr string
	// TTL and Records say how long and how many superseded artifacts are kept.
	TTL     time.Duration
	Records int
}

// Watch is what the controller sees of the cluster.
type Watch struct {
	// AllNamespaces is false when only Namespace is watched.
	AllNamespaces bool
	Namespace     string
	// Selector selects the generators of this shard; empty selects all.
	Selector string
}

// Leader is the election of one among several controllers.
type Leader struct {
	Elect, Release          bool
	Lease, Renew, RetryTime time.Duration
}

// Log is how the controller logs.
type Log struct{ Encoding, Level string }

// Flags binds the flags of the controller, which are Flux's where Flux has
// such. The environment gives the defaults of those that differ from pod to
// pod.
func (c *Config) Flags(fs *flag.FlagSet, getenv func(string) string) {
	fs.IntVar(&c.Concurrent, "concurrent", 10, "how many generators are reconciled at a time")
	fs.StringVar(&c.MetricsAddr, "metrics-addr", ":8080", "the address of metrics and profiles; 0 for none")
	fs.StringVar(&c.HealthAddr, "health-addr", ":9440", "the address of the probes; 0 for none")
	fs.DurationVar(&c.Timeout, "reconciliation-timeout", 10*time.Minute, "how long one reconciliation may take")
	fs.IntVar(&c.JitterPercent, "interval-jitter-percentage", 5, "by how many percent intervals are made longer or shorter")
	fs.DurationVar(&c.MinRetryDelay, "min-retry-delay", 750*time.Millisecond, "the delay before the first retry of a failed reconciliation")
	fs.DurationVar(&c.MaxRetryDelay, "max-retry-delay", 15*time.Minute, "the longest delay between two retries")
	fs.DurationVar(&c.Fetch.Wait, "requeue-dependency", fetch.DefaultWait, "the delay before sources that are missing or cannot be fetched are tried again")
	fs.BoolVar(&c.NoCrossNamespaceRefs, "no-cross-namespace-refs", false, "refuse sources of other namespaces than the generator's")
	fs.Float64Var(&c.QPS, "kube-api-qps", -1, "how many requests a second are sent to the API server at most; negative leaves that to the API server")
	fs.IntVar(&c.Burst, "kube-api-burst", 300, "how many requests may exceed kube-api-qps for a moment")
	fs.Func("feature-gates", "gates as NAME=true, comma-separated; SourceRootGlobs keeps what a pattern matches at its path from the source's root", c.gates)
	c.Fetch.Flags(fs)
	c.Storage.flags(fs, getenv)
	c.Watch.flags(fs, getenv)
	c.Leader.flags(fs)
	c.Log.flags(fs)
}

func (c *Config) gates(s string) error {
	for gate := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(gate), "=")
		switch {
		case name != "SourceRootGlobs":
			return fmt.Errorf("no gate is called %q; there is SourceRootGlobs", name)
		case value != "true" && value != "false":
			return fmt.Errorf("gate %q: want true or false", name)
		}
		c.SourceRootGlobs = value == "true"
	}
	return nil
}

func (s *Storage) flags(fs *flag.FlagSet, getenv func(string) string) {
	fs.StringVar(&s.Path, "storage-path", cmp.Or(getenv("STORAGE_PATH"), "/data"), "the directory that artifacts are kept in")
	fs.StringVar(&s.Addr, "storage-addr", cmp.Or(getenv("STORAGE_ADDR"), ":9090"), "the address that artifacts are served on")
	fs.StringVar(&s.AdvAddr, "storage-adv-addr", getenv("STORAGE_ADV_ADDR"), "the address in the URLs of artifacts (default the host's name and the port of storage-addr)")
	fs.DurationVar(&s.TTL, "artifact-retention-ttl", time.Minute, "how long superseded artifacts are kept")
	fs.IntVar(&s.Records, "artifact-retention-records", 2, "how many superseded artifacts of a name are kept")
}

func (w *Watch) flags(fs *flag.FlagSet, getenv func(string) string) {
	w.Namespace = getenv("RUNTIME_NAMESPACE")
	fs.BoolVar(&w.AllNamespaces, "watch-all-namespaces", true, "watch all namespaces, and not only that of RUNTIME_NAMESPACE")
	fs.StringVar(&w.Selector, "watch-label-selector", "", "reconcile only the generators with these labels")
}

func (l *Leader) flags(fs *flag.FlagSet) {
	fs.BoolVar(&l.Elect, "enable-leader-election", false, "work only while holding a lease, for more than one replica")
	fs.BoolVar(&l.Release, "leader-election-release-on-cancel", true, "give the lease back at the end")
	fs.DurationVar(&l.Lease, "leader-election-lease-duration", 35*time.Second, "how long others wait for a leader that is gone")
	fs.DurationVar(&l.Renew, "leader-election-renew-deadline", 30*time.Second, "how long the leader tries to renew its lease")
	fs.DurationVar(&l.RetryTime, "leader-election-retry-period", 5*time.Second, "the time between two tries to get the lease")
}

func (l *Log) flags(fs *flag.FlagSet) {
	fs.StringVar(&l.Encoding, "log-encoding", "json", "json or console")
	fs.StringVar(&l.Level, "log-level", "info", "trace, debug, info or error")
}

// check completes the configuration and says what is wrong with it.
func (c *Config) check() error {
	if c.Concurrent < 1 {
		return errors.New("--concurrent: want at least 1")
	}
	if c.JitterPercent < 0 || c.JitterPercent > 100 {
		return errors.New("--interval-jitter-percentage: want 0 to 100")
	}
	if !c.Watch.AllNamespaces && c.Watch.Namespace == "" {
		return errors.New("--watch-all-namespaces=false needs RUNTIME_NAMESPACE")
	}
	if _, err := labels.Parse(c.Watch.Selector); err != nil {
		return fmt.Errorf("--watch-label-selector: %w", err)
	}
	if c.Storage.AdvAddr != "" {
		return nil
	}
	host, port, err := net.SplitHostPort(c.Storage.Addr)
	if err != nil {
		return fmt.Errorf("--storage-addr: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			return fmt.Errorf("--storage-adv-addr is not set: %w", err)
		}
	}
	c.Storage.AdvAddr = net.JoinHostPort(host, port)
	return nil
}
