// Package cluster is how a command reaches a cluster: the one that kubectl
// would reach with the same flags and environment, as the same user. It caches
// nothing and, but for [Cluster.Client], asks for no discovery: a command knows
// the resources that it is about, and makes few requests.
//
// Of k8s.io/cli-runtime, which has the same flags, it needs nothing: that
// brings kustomize along and makes the program twice as large.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // kubeconfigs may name it
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/weir-dev/weir/internal/cli/process"
)

// Flags are kubectl's flags for the cluster, the user and the namespace.
type Flags struct {
	env        process.Env
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

// Register adds the flags to a command, with their completions.
func (f *Flags) Register(c *cobra.Command, env process.Env) {
	f.env = env
	flags := c.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig `FILE` (default $KUBECONFIG, else ~/.kube/config, else the pod's account)")
	flags.StringVar(&f.overrides.CurrentContext, "context", "", "the `CONTEXT` of the kubeconfig")
	flags.StringVarP(&f.overrides.Context.Namespace, "namespace", "n", "", "the `NAMESPACE` (default the context's)")
	flags.StringVar(&f.overrides.AuthInfo.Impersonate, "as", "", "act as this `USER`, if you may")
	flags.StringArrayVar(&f.overrides.AuthInfo.ImpersonateGroups, "as-group", nil, "act as a member of this `GROUP`; may be given several times")
	flags.StringVar(&f.overrides.Timeout, "request-timeout", "0", "how long one request may take, as a `DURATION` such as 10s; 0 means forever")
	_ = c.RegisterFlagCompletionFunc("context", f.completeContext)
	_ = c.RegisterFlagCompletionFunc("namespace", f.completeNamespace)
	for _, name := range []string{"as", "as-group", "request-timeout"} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// Connect returns the cluster that the flags and the environment name. It
// makes no request.
func (f *Flags) Connect() (*Cluster, error) {
	if _, err := clientcmd.ParseTimeout(f.overrides.Timeout); err != nil {
		return nil, process.Usagef("--request-timeout: %q is no duration such as 10s", f.overrides.Timeout)
	}
	if len(f.overrides.AuthInfo.ImpersonateGroups) > 0 && f.overrides.AuthInfo.Impersonate == "" {
		return nil, process.Usagef("--as-group needs a user: give --as too")
	}
	loader := f.loader()
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, f.explain(loader, err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, f.explain(loader, err)
	}
	config.UserAgent = "weir/" + f.env.Version
	config.QPS = -1 // API servers are fair by themselves
	config.WarningHandler = rest.NewWarningWriter(f.env.Err, rest.WarningWriterOptions{Deduplicate: true})
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig: %w", err)
	}
	return &Cluster{Namespace: namespace, client: client, config: config}, nil
}

func (f *Flags) loader() clientcmd.ClientConfig {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: f.kubeconfig}
	if list := f.env.Getenv(clientcmd.RecommendedConfigPathEnvVar); list != "" {
		rules.Precedence = filepath.SplitList(list)
	} else if home := cmp.Or(f.env.Getenv("HOME"), f.env.Getenv("USERPROFILE")); home != "" {
		rules.Precedence = []string{filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)}
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.overrides)
}

// explain says what to do about a kubeconfig that is of no use.
func (f *Flags) explain(loader clientcmd.ClientConfig, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.kubeconfig != "":
		return process.Usagef("--kubeconfig: %q does not exist", f.kubeconfig)
	case clientcmd.IsEmptyConfig(err):
		return errors.New("no cluster is configured: set KUBECONFIG, or name a kubeconfig with --kubeconfig")
	case f.overrides.CurrentContext != "" && !slices.Contains(contexts(loader), f.overrides.CurrentContext):
		return process.Usagef("--context: there is no context %q; there are %s", f.overrides.CurrentContext, strings.Join(contexts(loader), ", "))
	}
	return fmt.Errorf("the kubeconfig: %w", err)
}

func contexts(loader clientcmd.ClientConfig) []string {
	raw, err := loader.RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

func (f *Flags) completeContext(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return contexts(f.loader()), cobra.ShellCompDirectiveNoFileComp
}

func (f *Flags) completeNamespace(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.Complete(c.Context(), Namespaces, true), cobra.ShellCompDirectiveNoFileComp
}

// Complete returns the names of the objects of a resource, none when there is
// no answer soon: a shell waits, and shows no errors.
func (f *Flags) Complete(ctx context.Context, r Resource, everywhere bool) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	cluster, err := f.Connect()
	if err != nil {
		return nil
	}
	namespace := cluster.Namespace
	if everywhere {
		namespace = ""
	}
	all, err := cluster.Objects(r, namespace).List(ctx, Selection{})
	if err != nil {
		return nil
	}
	out := make([]cobra.Completion, len(all))
	for i := range all {
		out[i] = all[i].GetName()
	}
	return out
}
