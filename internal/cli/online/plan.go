package online

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/cli/cluster"
	"github.com/weir-dev/weir/internal/cli/manifest"
	"github.com/weir-dev/weir/internal/cli/process"
	"github.com/weir-dev/weir/internal/controller/forecast"
	"github.com/weir-dev/weir/internal/controller/wanted"
	"github.com/weir-dev/weir/internal/view"
)

// The exit codes of weir plan, as those of diff.
const (
	exitChanges = 1
	exitTrouble = 2
)

// planned is one call of weir plan.
type planned struct {
	target

	files  []string
	output string
	all    bool
}

func newPlan(env process.Env) *cobra.Command {
	var p planned
	c := &cobra.Command{
		Use:   "plan (-f FILE|DIR|- | KIND NAME...)",
		Short: "Show what a replication would do in a cluster",
		Long: `Plan shows what the next pass over a replication would do in the cluster as it is
now: what it would create, update, adopt, conflict on, skip and remove, and why.
It writes nothing. The replication is that of a file, or the one in the cluster;
of one of a file that is in the cluster too, what it would no longer want is
removed.

All is read with your rights: what you may not read is an error of the plan. The
controller acts as the ServiceAccount of the replication; to plan with its
rights, give --as system:serviceaccount:NAMESPACE:NAME. Conflicts are told from
the managed fields of the objects. What admission would refuse is not foreseen,
nor does dependsOn count.

It exits with 0 when all is as wanted, with 1 when something would change or is
in conflict, and with more when the command line is wrong or a part of the plan
could not be made or could not be done.`,
		Example: `  # what a changed file would do
  weir plan -f replication.yaml

  # what a replication that is in the cluster would do now
  weir plan gtr pull-secrets
  weir plan tr local -n apps

  # with the rights of the account that it acts as, for a program
  weir plan gtr pull-secrets --as system:serviceaccount:weir-system:weir-replicator -o json`,
		SuggestFor: []string{"preview", "diff", "dry-run", "what-if"},
		RunE: func(c *cobra.Command, args []string) error {
			if err := p.run(c.Context(), args); err != nil {
				return process.Exit(process.Code(err, exitTrouble), err)
			}
			return nil
		},
	}
	p.register(c, env)
	return c
}

func (p *planned) register(c *cobra.Command, env process.Env) {
	p.env = env
	c.Args = cobra.ArbitraryArgs // parse says what is wrong with them
	c.ValidArgsFunction = p.complete
	flags := c.Flags()
	flags.StringSliceVarP(&p.files, "filename", "f", nil, "`FILE`, directory or quoted pattern with replications, or - for standard input; may be given several times")
	flags.StringVarP(&p.output, "output", "o", string(view.Table), "print the plan as `FORMAT`: table, json or yaml")
	flags.BoolVar(&p.all, "show-unchanged", false, "show also what stays as it is, which else is only counted")
	p.flags.Register(c, env)
	_ = c.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(
		[]cobra.Completion{string(view.Table), string(view.JSON), string(view.YAML)}, cobra.ShellCompDirectiveNoFileComp))
}

func (p *planned) run(ctx context.Context, args []string) error {
	if !slices.Contains([]view.Format{view.Table, view.JSON, view.YAML}, view.Format(p.output)) {
		return process.Usagef("--output: %q is none of table, json and yaml", p.output)
	}
	asked, err := p.asked(ctx, args)
	if err != nil {
		return err
	}
	to, err := p.flags.Connect()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1beta2.AddToScheme(scheme)); err != nil {
		return err
	}
	reader, err := to.Client(scheme)
	if err != nil {
		return err
	}
	return p.plan(ctx, to, reader, asked)
}

// asked returns the replications to plan: those of files whole, those of the
// cluster as names.
func (p *planned) asked(ctx context.Context, args []string) ([]manifest.Replication, error) {
	switch {
	case len(p.files) > 0 && len(args) > 0:
		return nil, process.Usagef("give files or names, not both")
	case len(p.files) > 0:
		all, err := manifest.Replications(ctx, p.files, p.env.In)
		if err != nil && ctx.Err() == nil {
			return nil, process.Usage(fmt.Errorf("--filename: %w", err))
		}
		return all, err
	case len(args) == 0:
		return nil, process.Usagef("name a file with -f, or a replication such as gtr/NAME")
	}
	if err := p.parse(args); err != nil {
		return nil, err
	}
	if len(p.names) == 0 {
		return nil, process.Usagef("name the replication, such as %s/NAME", p.kind.Short[0])
	}
	var out []manifest.Replication
	for _, name := range p.names {
		var o client.Object
		switch p.kind.Singular {
		case "globaltenantresource":
			o = &v1beta2.GlobalTenantResource{}
		case "tenantresource":
			o = &v1beta2.TenantResource{}
		default:
			return nil, process.Usagef("there is no plan of %s, only of globaltenantresources (gtr) and tenantresources (tr)", p.kind.Resource.Resource)
		}
		o.SetName(name)
		out = append(out, manifest.Replication{Object: o})
	}
	return out, nil
}

// plan plans one after the other. What fails with one concerns no other.
func (p *planned) plan(ctx context.Context, to *cluster.Cluster, reader client.Client, asked []manifest.Replication) error {
	f := forecast.New(reader, wanted.Options{})
	var out view.Plans
	failed, changes := false, false
	for _, a := range asked {
		plan, err := p.one(ctx, f, to, reader, a)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			p.env.Fail(err)
			failed = true
			continue
		}
		out.Plans = append(out.Plans, plan)
		failed, changes = failed || plan.Broken(), changes || plan.Changes()
		if view.Format(p.output) == view.Table {
			for _, text := range plan.Errors {
				p.env.Fail(fmt.Errorf("%s %s: %s", plan.Kind, plan.Name, view.Line(text)))
			}
		}
	}
	if err := out.Print(p.env.Out, view.Format(p.output), p.all); err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	switch {
	case failed:
		return process.Exit(exitTrouble, process.ErrReported)
	case changes:
		return process.Exit(exitChanges, process.ErrReported)
	}
	return nil
}

func (p *planned) one(ctx context.Context, f *forecast.Forecaster, to *cluster.Cluster, reader client.Client, a manifest.Replication) (*view.Plan, error) {
	if a.Invalid != nil {
		return nil, a.Invalid
	}
	o := a.Object
	title := "globaltenantresource/" + o.GetName()
	if _, ok := o.(*v1beta2.TenantResource); ok {
		title = "tenantresource/" + o.GetName()
		if o.GetNamespace() == "" {
			o.SetNamespace(to.Namespace)
		}
	}
	if len(p.files) == 0 {
		if err := reader.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return nil, fmt.Errorf("%s: %w", title, to.Explain(err))
		}
	}
	plan, err := f.Of(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title, to.Explain(err))
	}
	return plan, nil
}
