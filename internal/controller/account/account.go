// Package account acts as ServiceAccounts, by impersonation, and says with each
// request for which replication: see [mark.Extra]. It does not check that they
// exist: rights that are bound to a name hold without it.
package account

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/protect/mark"
)

// most is how many clients are kept; they are cheap to make again.
const most = 1000

// Clients are clients of ServiceAccounts, which share connections. It must not be
// copied after its first use; concurrent use is safe.
type Clients struct {
	// Config is that of the controller, who must be allowed to impersonate.
	Config *rest.Config
	// Options are those of each client. Their HTTPClient and Cache are not used:
	// clients read from the API server.
	Options client.Options

	mu  sync.Mutex
	all map[actor]client.Client // guarded by mu
}

// actor is an account in the service of a replication.
type actor struct {
	types.NamespacedName
	mark.Replication
}

// UserName returns the name by which the API server knows a ServiceAccount.
func UserName(account types.NamespacedName) string {
	return "system:serviceaccount:" + account.Namespace + ":" + account.Name
}

// As returns a configuration to act as the ServiceAccount. The caller may change
// it.
func (c *Clients) As(account types.NamespacedName) *rest.Config {
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: UserName(account)}
	return config
}

// For returns a client that acts as the ServiceAccount for the replication, or
// with the zero value for none.
func (c *Clients) For(account types.NamespacedName, r mark.Replication) (client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	who := actor{account, r}
	if found, ok := c.all[who]; ok {
		return found, nil
	}
	config := c.As(account)
	if r != (mark.Replication{}) {
		config.Impersonate.Extra = map[string][]string{mark.Extra: {r.String()}}
	}
	options := c.Options
	options.HTTPClient, options.Cache = nil, nil
	made, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("acting as ServiceAccount %s: %w", account, err)
	}
	if c.all == nil || len(c.all) >= most {
		c.all = map[actor]client.Client{}
	}
	c.all[who] = made
	return made, nil
}
