package online

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/cli/cluster"
	"github.com/weir-dev/weir/internal/cli/kind"
	"github.com/weir-dev/weir/internal/cli/printer"
	"github.com/weir-dev/weir/internal/cli/process"
	"github.com/weir-dev/weir/internal/controller/item"
	"github.com/weir-dev/weir/internal/controller/record"
)

// items is one call of weir get items.
type items struct {
	target

	state     string
	output    string
	noHeaders bool
}

func newItems(env process.Env) *cobra.Command {
	var i items
	c := &cobra.Command{
		Use:   "items KIND/NAME",
		Short: "Show the targets of a replication",
		Long: `Items shows all targets of a GlobalTenantResource or TenantResource: in which
state each is, and why. Those that failed come first.

The status of a replication with thousands of targets has no room for all of
them. The others are read from ConfigMaps in the namespace of the controller,
which takes the right to list ConfigMaps there. Without it what the status has is
shown.

It exits with 0 when all targets could be shown, with 1 when not, and with 2 when
the command line is wrong.`,
		Example: `  # all targets of a replication
  weir get items gtr/quota

  # those that failed, of one of a namespace
  weir get items tr/keys -n solar-dev --state failed

  # for a script
  weir get items gtr/quota -o json`,
		RunE: func(c *cobra.Command, args []string) error { return i.run(c.Context(), args) },
	}
	i.env = env
	c.Args = cobra.ArbitraryArgs // run says what is wrong with them
	c.ValidArgsFunction = i.complete
	i.flags.Register(c, env)
	flags := c.Flags()
	flags.StringVar(&i.state, "state", "", "only targets in this `STATE`: "+states())
	flags.StringVarP(&i.output, "output", "o", "table", "print as `FORMAT`: table, json or yaml")
	flags.BoolVar(&i.noHeaders, "no-headers", false, "print no header above a table")
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(strings.Split(states(), ", "), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// states lists all states.
func states() string {
	var out []string
	for _, s := range item.States() {
		out = append(out, string(s))
	}
	return strings.Join(out, ", ")
}

func (i *items) run(ctx context.Context, args []string) error {
	if err := i.parse(args); err != nil {
		return err
	}
	of, isReplication := kinds[i.kind.Singular]
	switch {
	case !isReplication:
		return process.Usagef("%s have no items; name a GlobalTenantResource or TenantResource, as in gtr/NAME", i.kind.Resource.Resource)
	case len(i.names) != 1:
		return process.Usagef("name one replication, as in %s/NAME", i.kind.Short[0])
	case i.state != "" && !slices.Contains(item.States(), item.State(i.state)):
		return process.Usagef("--state: %q is none of %s", i.state, states())
	case !slices.Contains([]string{"table", "json", "yaml"}, i.output):
		return process.Usagef("--output: %q is none of table, json and yaml", i.output)
	}
	objects, err := i.connect()
	if err != nil {
		return err
	}
	found, err := i.resolve(ctx, objects, false)
	if err != nil {
		return err
	}
	all, missing := i.read(ctx, objects, of, &found[0])
	if all == nil && missing != nil {
		return missing
	}
	if err := i.print(i.chosen(all)); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return missing
}

// kinds are the kinds that have items, by their names on the command line.
var kinds = map[string]string{
	"globaltenantresource": v1beta2.KindGlobalTenantResource,
	"tenantresource":       v1beta2.KindTenantResource,
}

// read returns the items of a replication. With an error they are those that
// the status has, nil if it cannot be read.
func (i *items) read(ctx context.Context, objects cluster.Objects, of string, o *unstructured.Unstructured) ([]v1beta2.ProcessedItem, error) {
	var is struct {
		Status v1beta2.ReplicationStatus `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &is); err != nil {
		return nil, fmt.Errorf("%s: reading its status: %w", i.title(o), err)
	}
	owner, s := record.OwnerOf(of, o), &is.Status
	var shards []unstructured.Unstructured
	if record.IsSharded(s) {
		var err error
		shards, err = objects.Others(cluster.ConfigMaps, s.Shards.Namespace).
			List(ctx, cluster.Selection{Labels: labels.Set(record.Labels(owner)).String()})
		switch {
		case apierrors.IsForbidden(err):
			return s.ProcessedItems, fmt.Errorf("%d of %d items are not shown, for they are in ConfigMaps of namespace %s: whoever wants to see them needs the right to list ConfigMaps there: %w",
				s.Size-int64(len(s.ProcessedItems)), s.Size, s.Shards.Namespace, err)
		case err != nil:
			return s.ProcessedItems, err
		}
	}
	_, all, err := record.Read(owner, s, shards)
	if err != nil {
		return s.ProcessedItems, fmt.Errorf("%s: %w", i.title(o), err)
	}
	return all, nil
}

// chosen returns the items in the state that was asked for, those first that
// failed.
func (i *items) chosen(all []v1beta2.ProcessedItem) []v1beta2.ProcessedItem {
	out := []v1beta2.ProcessedItem{}
	for _, s := range item.States() {
		for n := range all {
			if is := item.StateOf(&all[n]); is == s && (i.state == "" || i.state == string(s)) {
				out = append(out, all[n])
			}
		}
	}
	return out
}

func (i *items) print(all []v1beta2.ProcessedItem) error {
	if i.output == "table" {
		return i.table(all)
	}
	data, err := json.MarshalIndent(map[string]any{"items": all}, "", "    ")
	if err == nil && i.output == "yaml" {
		data, err = yaml.JSONToYAML(data)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(i.env.Out, strings.TrimSuffix(string(data), "\n"))
	return err
}

func (i *items) table(all []v1beta2.ProcessedItem) error {
	if len(all) == 0 {
		i.env.Note("No items found")
		return nil
	}
	header := []string{"STATE", "TENANT", "NAMESPACE", "KIND", "NAME", "APPLIED", "MESSAGE"}
	if i.noHeaders {
		header = nil
	}
	now := time.Now()
	rows := make([][]string, len(all))
	for n := range all {
		it := &all[n]
		applied := "never"
		if at := it.Status.LastApply; at != nil {
			applied = duration.HumanDuration(now.Sub(at.Time))
		}
		namespace := it.Namespace
		if namespace == "" {
			namespace = "-"
		}
		rows[n] = []string{string(item.StateOf(it)), it.Tenant, namespace, it.Kind, it.Name, applied, it.Status.Message}
	}
	return printer.Table(i.env.Out, header, rows)
}

// complete offers kinds, then names of their objects.
func (i *items) complete(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return []cobra.Completion{"globaltenantresource", "tenantresource"}, cobra.ShellCompDirectiveNoFileComp
	case 1:
		if k, err := kind.Find(args[0]); err == nil {
			return i.flags.Complete(c.Context(), k.Resource, k.ClusterScoped), cobra.ShellCompDirectiveNoFileComp
		}
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
