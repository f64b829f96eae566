package online

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/internal/cli/cluster"
	"github.com/weir-dev/weir/internal/cli/kind"
	"github.com/weir-dev/weir/internal/cli/process"
)

// request is one call of a command that asks for a reconciliation, and may
// wait for its outcome.
type request struct {
	target

	wait    bool
	timeout time.Duration
	program string // by check: what the user calls this program
}

func (r *request) register(c *cobra.Command, env process.Env) {
	r.target.register(c, env)
	flags := c.Flags()
	flags.BoolVar(&r.all, "all", false, "all objects of the namespace")
	flags.BoolVar(&r.wait, "wait", false, "wait for the outcome, and exit with 1 when it is not Ready=True")
	flags.DurationVar(&r.timeout, "timeout", 5*time.Minute, "with --wait, for how long at most")
	_ = c.RegisterFlagCompletionFunc("timeout", cobra.NoFileCompletions)
}

func (r *request) check(c *cobra.Command, args []string) error {
	if err := r.parseActive(c, args); err != nil {
		return err
	}
	r.program = c.Root().DisplayName()
	switch {
	case r.timeout <= 0:
		return process.Usagef("--timeout: %s is not more than 0", r.timeout)
	case c.Flags().Changed("timeout") && !r.wait:
		return process.Usagef("--timeout is for --wait")
	}
	return nil
}

func newReconcile(env process.Env) *cobra.Command {
	var r request
	c := &cobra.Command{
		Use:   "reconcile KIND NAME...",
		Short: "Ask for a reconciliation now",
		Long: `Reconcile asks the controller to look at objects now, and with --wait tells what
came of it.

It exits with 0 when all was asked for, and with --wait when all ended as
Ready=True; with 1 when not, after the time of --timeout, or when an object that
was named is suspended; and with 2 when the command line is wrong. Suspended
objects that were not named are passed over.`,
		Example: `  # look at a generator now, and wait for what comes of it
  weir reconcile ag my-app -n apps --wait

  # all generators of a team
  weir reconcile ag -A -l team=shop --wait --timeout 10m

  # a replication
  weir reconcile gtr pull-secrets --wait`,
		SuggestFor: []string{"sync", "refresh", "trigger", "poke"},
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.check(c, args); err != nil {
				return err
			}
			return r.reconcile(c.Context())
		},
	}
	r.register(c, env)
	return c
}

func (r *request) reconcile(ctx context.Context) error {
	return r.ask(ctx, "reconciliation requested", func(o *unstructured.Unstructured) (kind.Change, error) {
		switch {
		case !r.kind.Suspended(o):
			return r.kind.Asking(kind.Change{}, stamp()), nil
		case len(r.names) > 0:
			return kind.Change{}, fmt.Errorf("it is suspended: resume it with %s resume %s %s%s", r.program, r.kind.Short[0], o.GetName(), flagFor(o))
		}
		r.env.Note("%s passed over: it is suspended", r.title(o))
		return kind.Change{}, errPassedOver
	})
}

func newResume(env process.Env) *cobra.Command {
	var r request
	c := &cobra.Command{
		Use:   "resume KIND NAME...",
		Short: "Have suspended objects reconciled again",
		Long: `Resume has suspended objects reconciled again, by undoing what suspends them. Those
that are not suspended stay as they are. With --wait it asks for a reconciliation
and tells what came of it, as weir reconcile does.`,
		Example: `  # resume a generator, and wait until it is up to date
  weir resume ag my-app -n apps --wait

  # all of the namespace
  weir resume ag --all`,
		SuggestFor: []string{"unsuspend", "unpause", "enable", "continue"},
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.check(c, args); err != nil {
				return err
			}
			return r.resume(c.Context())
		},
	}
	r.register(c, env)
	return c
}

func (r *request) resume(ctx context.Context) error {
	return r.ask(ctx, "resumed", func(*unstructured.Unstructured) (kind.Change, error) {
		if r.wait {
			return r.kind.Asking(r.kind.Resume, stamp()), nil
		}
		return r.kind.Resume, nil
	})
}

// stamp is the value of a request, which no other has.
func stamp() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// errPassedOver is returned for an object of which nothing is asked.
var errPassedOver = errors.New("passed over")

// flagFor is the flag that a command needs to find the object.
func flagFor(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return ""
	}
	return " -n " + o.GetNamespace()
}

// ask changes the objects, says what it did, and waits if that was asked for.
func (r *request) ask(ctx context.Context, did string, change func(*unstructured.Unstructured) (kind.Change, error)) error {
	var asked []*unstructured.Unstructured
	err := r.each(ctx, func(objects cluster.Objects, o *unstructured.Unstructured) error {
		c, err := change(o)
		if errors.Is(err, errPassedOver) {
			return nil
		}
		if err != nil {
			return err
		}
		if o, err = objects.Change(ctx, o.GetName(), c); err != nil {
			return err
		}
		fmt.Fprintln(r.env.Out, r.title(o), did)
		asked = append(asked, o)
		return nil
	})
	if !r.wait || len(asked) == 0 || err != nil && !errors.Is(err, process.ErrReported) {
		return err
	}
	if waitErr := r.await(ctx, asked); waitErr != nil {
		return waitErr
	}
	return err
}

// suspend is one call of weir suspend.
type suspend struct{ target }

func newSuspend(env process.Env) *cobra.Command {
	var s suspend
	c := &cobra.Command{
		Use:   "suspend KIND NAME...",
		Short: "Have objects left alone by their controller",
		Long: `Suspend has objects left alone by their controller: generators by an annotation,
replications by spec.cordoned. What they made stays as it is; deleting them works
as ever. weir resume ends it.`,
		Example: `  # leave a generator alone, and a replication
  weir suspend ag my-app -n apps
  weir suspend gtr pull-secrets

  # all of a team, in all namespaces
  weir suspend ag -A -l team=shop`,
		SuggestFor: []string{"pause", "stop", "disable"},
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.parseActive(c, args); err != nil {
				return err
			}
			return s.run(c.Context())
		},
	}
	s.register(c, env)
	c.Flags().BoolVar(&s.all, "all", false, "all objects of the namespace")
	return c
}

func (s *suspend) run(ctx context.Context) error {
	return s.each(ctx, func(objects cluster.Objects, o *unstructured.Unstructured) error {
		if _, err := objects.Change(ctx, o.GetName(), s.kind.Suspend); err != nil {
			return err
		}
		fmt.Fprintln(s.env.Out, s.title(o), "suspended")
		return nil
	})
}
