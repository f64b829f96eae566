package replicator

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/internal/controller/replication"
	"github.com/weir-dev/weir/internal/controller/tenant"
)

// Protection is how protected targets are kept from others.
type Protection string

const (
	// Policy has the API server refuse what others want, by admission policies.
	Policy Protection = "policy"
	// None refuses nothing.
	None Protection = "none"
)

// Set sets the protection by its name. It implements [flag.Value].
func (p *Protection) Set(s string) error {
	if !slices.Contains([]Protection{Policy, None}, Protection(s)) {
		return fmt.Errorf("want %s or %s", Policy, None)
	}
	*p = Protection(s)
	return nil
}

// String returns the name of the protection.
func (p *Protection) String() string {
	if p == nil || *p == "" {
		return string(Policy)
	}
	return string(*p)
}

// Config is what the flags of replications say. Its zero value is not useful:
// [Config.Flags] sets the defaults.
type Config struct {
	// On is false when replications, tenants and policies are left alone.
	On bool
	// Defaults are the ServiceAccounts of replications that name none.
	Defaults replication.Defaults
	// Tenants says who keeps the status of tenants.
	Tenants tenant.Mode
	// Protection is how protected targets are kept from others, and Exempt are
	// the user names of those whom it does not stop, beside the controller.
	Protection Protection
	Exempt     []string
}

// capsule is the account of Capsule's controller where its chart puts it.
const capsule = "system:serviceaccount:capsule-system:capsule"

// Flags binds the flags.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.BoolVar(&c.On, "replications", true, "reconcile TenantResources, GlobalTenantResources and Tenants, and keep the admission policies")
	fs.Func("global-default-service-account", "the ServiceAccount, as NAMESPACE/NAME, that GlobalTenantResources act as which name none; without it they act as the controller", func(s string) error {
		namespace, name, ok := strings.Cut(s, "/")
		if !ok && s != "" { // which takes back what a manifest says
			return errors.New("want NAMESPACE/NAME")
		}
		c.Defaults.Global = types.NamespacedName{Namespace: namespace, Name: name}
		return nil
	})
	fs.Func("tenant-default-service-account", "the ServiceAccount that TenantResources act as which name none, as NAME in the namespace of each, or as NAMESPACE/NAME; without it they act as the controller", func(s string) error {
		namespace, name, ok := strings.Cut(s, "/")
		if !ok {
			namespace, name = "", s
		}
		c.Defaults.Tenant = types.NamespacedName{Namespace: namespace, Name: name}
		return nil
	})
	fs.Var(&c.Tenants, "tenant-controller", "whether the status of Tenants is kept: auto (unless Capsule is installed), on or off")
	fs.Var(&c.Protection, "protection", "what keeps others off protected objects: policy (a ValidatingAdmissionPolicy) or none")
	fs.Func("protection-exempt", "a user name that admission policies do not stop; may be repeated (default "+capsule+")", func(s string) error {
		c.Exempt = append(c.Exempt, s)
		return nil
	})
}

// exempt returns whom the policies do not stop.
func (c *Config) exempt() []string {
	if c.Exempt == nil {
		return []string{capsule}
	}
	return c.Exempt
}

// Check says everything that is wrong with the configuration.
func (c *Config) Check() error {
	errs := []error{
		checkAccount("--global-default-service-account", c.Defaults.Global, true),
		checkAccount("--tenant-default-service-account", c.Defaults.Tenant, false),
	}
	for _, name := range c.Exempt {
		if name == "" || strings.ContainsAny(name, `"\`) || strings.TrimSpace(name) != name {
			errs = append(errs, fmt.Errorf("--protection-exempt: %q is no user name", name))
		}
	}
	return errors.Join(errs...)
}

// checkAccount checks the name of a ServiceAccount, if there is one.
func checkAccount(flag string, a types.NamespacedName, namespaced bool) error {
	if a == (types.NamespacedName{}) {
		return nil
	}
	problems := validation.ValidateServiceAccountName(a.Name, false)
	if namespaced || a.Namespace != "" {
		problems = append(problems, validation.ValidateNamespaceName(a.Namespace, false)...)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %q: %s", flag, strings.TrimPrefix(a.String(), "/"), strings.Join(problems, "; "))
}
