package app

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/fetch"
	"github.com/weir-dev/weir/internal/replicator"
)

// Config is what the flags say. Its zero value is not useful: [Config.Flags]
// sets the defaults.
type Config struct {
	// Concurrent is how many objects of a kind are worked on at a time.
	Concurrent int
	// MetricsAddr and HealthAddr are where metrics and probes are answered; 0
	// means nowhere.
	MetricsAddr, HealthAddr string
	// EventsAddr is the URL that events are posted to; empty means nowhere.
	EventsAddr string
	// Timeout bounds one pass over one generator.
	Timeout time.Duration
	// JitterPercent is how far intervals are spread, in percent.
	JitterPercent int
	// MinRetryDelay and MaxRetryDelay bound the back-off after failures.
	MinRetryDelay, MaxRetryDelay time.Duration

	Gates   Gates
	Fetch   fetch.Options
	Storage Storage
	Tenants Tenants
	Watch   Watch
	// Replications are what the flags of package replicator say.
	Replications replicator.Config
	Leader       Leader
	Log          Log

	// QPS and Burst limit requests to the API server. A QPS below zero leaves
	// that to the API server, which is fair to everyone.
	QPS   float64
	Burst int
}

// Gates are the features that are off unless somebody asks for them.
type Gates struct {
	// DirectSourceFetch reads source objects from the API server, past the
	// cache.
	DirectSourceFetch bool
	// SourceRootGlobs keeps what a pattern matches at its path from the
	// source's root.
	SourceRootGlobs bool
}

// Storage is where artifacts are kept and served.
type Storage struct {
	// Path is the directory of the store.
	Path string
	// Addr is where artifacts are served, AdvAddr how consumers reach it, and
	// PodIP how other replicas do.
	Addr, AdvAddr, PodIP string
	// Algorithm makes the digests of tarballs.
	Algorithm string
	// TTL and Records say how long and how many superseded artifacts are kept.
	TTL     time.Duration
	Records int
}

// Tenants are the limits of generators that tenants write.
type Tenants struct {
	// NoCrossNamespaceRefs refuses sources of other namespaces.
	NoCrossNamespaceRefs bool
	// DefaultServiceAccount authorises generators that name none.
	DefaultServiceAccount string
	// OverrideManagers are field managers whose fields on managed namespaces
	// are taken for drift, exactly by their names.
	OverrideManagers []string
}

// Watch is what the controller sees of the cluster.
type Watch struct {
	// AllNamespaces is false when only Namespace is watched.
	AllNamespaces bool
	// Namespace and Account are those of the program itself.
	Namespace, Account string
	// Selector selects the generators and replications of this shard; empty
	// selects all.
	Selector string
	// Configs is of no effect, for no ConfigMap or Secret is read.
	Configs string
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
	fs.IntVar(&c.Concurrent, "concurrent", 10, "how many generators, and how many replications of each kind, are reconciled at a time")
	fs.StringVar(&c.MetricsAddr, "metrics-addr", ":8080", "the address of metrics and profiles; 0 for none")
	fs.StringVar(&c.HealthAddr, "health-addr", ":9440", "the address of the probes; 0 for none")
	fs.StringVar(&c.EventsAddr, "events-addr", "", "the URL of Flux's notification-controller, to which events are posted")
	fs.DurationVar(&c.Timeout, "reconciliation-timeout", 10*time.Minute, "how long one reconciliation may take")
	fs.IntVar(&c.JitterPercent, "interval-jitter-percentage", 5, "by how many percent intervals are made longer or shorter")
	fs.DurationVar(&c.MinRetryDelay, "min-retry-delay", 750*time.Millisecond, "the delay before the first retry of a failed reconciliation")
	fs.DurationVar(&c.MaxRetryDelay, "max-retry-delay", 15*time.Minute, "the longest delay between two retries")
	fs.DurationVar(&c.Fetch.Wait, "requeue-dependency", fetch.DefaultWait, "the delay before sources that are missing or cannot be fetched are tried again")
	fs.Float64Var(&c.QPS, "kube-api-qps", -1, "how many requests a second are sent to the API server at most; negative leaves that to the API server, which is fair to everyone")
	fs.IntVar(&c.Burst, "kube-api-burst", 300, "how many requests may exceed kube-api-qps for a moment")
	c.Gates.flags(fs)
	c.Fetch.Flags(fs)
	c.Storage.flags(fs, getenv)
	c.Tenants.flags(fs)
	c.Watch.flags(fs, getenv)
	c.Replications.Flags(fs)
	c.Leader.flags(fs)
	c.Log.flags(fs)
}

func (s *Storage) flags(fs *flag.FlagSet, getenv func(string) string) {
	s.PodIP = getenv("POD_IP")
	fs.StringVar(&s.Path, "storage-path", cmp.Or(getenv("STORAGE_PATH"), "/data"), "the directory that artifacts are kept in; $STORAGE_PATH")
	fs.StringVar(&s.Addr, "storage-addr", cmp.Or(getenv("STORAGE_ADDR"), ":9090"), "the address that artifacts are served on; $STORAGE_ADDR")
	fs.StringVar(&s.AdvAddr, "storage-adv-addr", getenv("STORAGE_ADV_ADDR"), "the address in the URLs of artifacts, which leads to storage-addr; $STORAGE_ADV_ADDR, or else the host's name and the port of storage-addr")
	fs.StringVar(&s.Algorithm, "artifact-digest-algo", "sha256", "what digests of tarballs are made with: sha256, sha384 or sha512")
	fs.DurationVar(&s.TTL, "artifact-retention-ttl", time.Minute, "how long superseded artifacts are kept")
	fs.IntVar(&s.Records, "artifact-retention-records", 2, "how many superseded artifacts of a name are kept")
}

func (t *Tenants) flags(fs *flag.FlagSet) {
	fs.BoolVar(&t.NoCrossNamespaceRefs, "no-cross-namespace-refs", false, "refuse sources of other namespaces than the generator's")
	fs.StringVar(&t.DefaultServiceAccount, "default-service-account", "", "the ServiceAccount that authorises generators which name none")
	fs.Func("override-manager", "a field manager whose fields on managed namespaces are taken for drift; may be repeated", func(s string) error {
		t.OverrideManagers = append(t.OverrideManagers, s)
		return nil
	})
}

func (w *Watch) flags(fs *flag.FlagSet, getenv func(string) string) {
	w.Namespace, w.Account = getenv("RUNTIME_NAMESPACE"), cmp.Or(getenv("SERVICE_ACCOUNT"), name)
	fs.BoolVar(&w.AllNamespaces, "watch-all-namespaces", true, "watch all namespaces, and not only that of $RUNTIME_NAMESPACE")
	fs.StringVar(&w.Selector, "watch-label-selector", "", "reconcile only the generators and replications with these labels, such as sharding.fluxcd.io/key=shard1")
	fs.StringVar(&w.Configs, "watch-configs-label-selector", "", "accepted for compatibility and of no effect: no ConfigMaps or Secrets are read")
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

// names returns the gates by name, in the order of help.
func (g *Gates) names() (names []string, gates map[string]*bool) {
	gates = map[string]*bool{"DirectSourceFetch": &g.DirectSourceFetch, "SourceRootGlobs": &g.SourceRootGlobs}
	for name := range gates {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, gates
}

func (g *Gates) flags(fs *flag.FlagSet) {
	fs.Func("feature-gates", "gates as NAME=true, comma-separated; DirectSourceFetch reads source objects past the cache, "+
		"SourceRootGlobs keeps what a pattern matches at its path from the source's root", g.set)
}

// set reads gates as the flag has them.
func (g *Gates) set(s string) error {
	names, gates := g.names()
	for gate := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(gate), "=")
		to := gates[name]
		if to == nil {
			return fmt.Errorf("no gate is called %q; there are %s", name, strings.Join(names, " and "))
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("gate %q: want true or false", name)
		}
		*to = on
	}
	return nil
}
