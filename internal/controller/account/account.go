// Package account acts as ServiceAccounts, by impersonation. It does not check
// that they exist: rights that are bound to a name hold without it.
package account

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// most is how many clients are kept; they are cheap to make again.
const most = 1000

// Clients are clients of ServiceAccounts. It must not be copied after its first
// use; concurrent use is safe.
type Clients struct {
	// Config is that of the controller, who must be allowed to impersonate.
	Config *rest.Config
	// Options are those of each client. Their HTTPClient and Cache are not used:
	// clients read from the API server.
	Options client.Options

	mu  sync.Mutex
	all map[types.NamespacedName]client.Client // guarded by mu
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

// For returns a client that acts as the ServiceAccount.
func (c *Clients) For(account types.NamespacedName) (client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.all[account]; ok {
		return found, nil
	}
	options := c.Options
	options.HTTPClient, options.Cache = nil, nil
	made, err := client.New(c.As(account), options)
	if err != nil {
		return nil, fmt.Errorf("acting as ServiceAccount %s: %w", account, err)
	}
	if c.all == nil || len(c.all) >= most {
		c.all = map[types.NamespacedName]client.Client{}
	}
	c.all[account] = made
	return made, nil
}
