package app

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/weir-dev/weir/internal/serve"
)

// check completes the configuration and says everything that is wrong with it.
func (c *Config) check() error {
	return errors.Join(
		need(c.Concurrent >= 1, "--concurrent: want at least 1"),
		need(c.Timeout > 0, "--reconciliation-timeout: want more than 0"),
		need(c.JitterPercent >= 0 && c.JitterPercent <= 100, "--interval-jitter-percentage: want 0 to 100"),
		need(c.MinRetryDelay > 0, "--min-retry-delay: want more than 0"),
		need(c.MaxRetryDelay >= c.MinRetryDelay, "--max-retry-delay: want at least --min-retry-delay"),
		need(c.Fetch.Wait > 0, "--requeue-dependency: want more than 0"),
		need(c.QPS < 0 || c.QPS > 0 && c.Burst > 0, "--kube-api-qps and --kube-api-burst: want more than 0, or a negative --kube-api-qps for no limit"),
		isURL("--events-addr", c.EventsAddr),
		c.Tenants.check(),
		c.Watch.check(),
		c.Replications.Check(),
		c.Leader.check(c.Watch.Namespace),
		c.Storage.check(),
	)
}

func need(is bool, message string) error {
	if is {
		return nil
	}
	return errors.New(message)
}

// isURL refuses what is neither empty nor a URL over HTTP.
func isURL(name, s string) error {
	u, err := url.Parse(s)
	if s == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	return fmt.Errorf("%s: %q is no URL such as http://notification-controller.flux-system.svc.cluster.local./", name, s)
}

func (t *Tenants) check() error {
	var errs []error
	if name := t.DefaultServiceAccount; name != "" {
		for _, problem := range validation.ValidateServiceAccountName(name, false) {
			errs = append(errs, fmt.Errorf("--default-service-account: %q: %s", name, problem))
		}
	}
	for _, m := range t.OverrideManagers {
		// As the API server takes it in requests.
		if m == "" || len(m) > 128 || strings.TrimSpace(m) != m {
			errs = append(errs, fmt.Errorf("--override-manager: %q is no name of a field manager", m))
		}
	}
	return errors.Join(errs...)
}

func (w *Watch) check() error {
	_, err := labels.Parse(w.Selector)
	if err != nil {
		err = fmt.Errorf("--watch-label-selector: %w", err)
	}
	_, cerr := labels.Parse(w.Configs)
	if cerr != nil {
		cerr = fmt.Errorf("--watch-configs-label-selector: %w", cerr)
	}
	return errors.Join(err, cerr, need(w.AllNamespaces || w.Namespace != "", "--watch-all-namespaces=false needs RUNTIME_NAMESPACE in the environment"))
}

func (l *Leader) check(namespace string) error {
	if !l.Elect {
		return nil
	}
	return errors.Join(
		need(namespace != "", "--enable-leader-election needs RUNTIME_NAMESPACE in the environment, where the lease is"),
		need(l.Lease > l.Renew, "--leader-election-lease-duration: want more than --leader-election-renew-deadline"),
		// The election spreads tries by a fifth.
		need(l.RetryTime > 0 && l.Renew > l.RetryTime+l.RetryTime/5, "--leader-election-renew-deadline: want more than --leader-election-retry-period and a fifth"),
	)
}

func (s *Storage) check() error {
	errs := []error{
		need(s.TTL >= 0, "--artifact-retention-ttl: want at least 0"),
		need(s.Records >= 0, "--artifact-retention-records: want at least 0"),
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("--storage-addr: %w", err))...)
	}
	if s.AdvAddr == "" {
		if isAny(host) {
			if host, err = os.Hostname(); err != nil {
				return errors.Join(append(errs, fmt.Errorf("--storage-adv-addr is not set: %w", err))...)
			}
		}
		s.AdvAddr = net.JoinHostPort(host, port)
	}
	if u, err := url.Parse(serve.URL(s.AdvAddr, "")); err != nil || u.Host == "" {
		errs = append(errs, fmt.Errorf("--storage-adv-addr: %q is neither a host, nor a host and a port, nor a URL", s.AdvAddr))
	}
	return errors.Join(errs...)
}
