// Package online has the commands that work on objects of a cluster: weir get, plan,
// reconcile, suspend and resume. They work on every kind that package kind
// knows; what only one kind can do is a command of its own.
package online

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/weir-dev/weir/internal/cli/cluster"
	"github.com/weir-dev/weir/internal/cli/kind"
	"github.com/weir-dev/weir/internal/cli/process"
)

// Commands returns the commands of this room.
func Commands(env process.Env) []*cobra.Command {
	return []*cobra.Command{newGet(env), newReconcile(env), newSuspend(env), newResume(env), newPlan(env)}
}

// target is which objects a command is about.
type target struct {
	env   process.Env
	flags cluster.Flags

	everywhere bool   // -A
	labels     string // -l
	all        bool   // --all

	kind  kind.Kind // by parse
	names []string  // by parse
}

// register adds the flags that all commands have.
func (t *target) register(c *cobra.Command, env process.Env) {
	t.env = env
	c.Args = cobra.ArbitraryArgs // parse says what is wrong with them
	c.ValidArgsFunction = t.complete
	flags := c.Flags()
	flags.BoolVarP(&t.everywhere, "all-namespaces", "A", false, "look into all namespaces")
	flags.StringVarP(&t.labels, "selector", "l", "", "only objects with these labels, as in `KEY=VALUE`,KEY!=VALUE,KEY")
	_ = c.RegisterFlagCompletionFunc("selector", cobra.NoFileCompletions)
	t.flags.Register(c, env)
}

// parse reads KIND [NAME…] or KIND/NAME….
func (t *target) parse(args []string) (err error) {
	if len(args) == 0 {
		return process.Usagef("name a kind: %s", kind.List())
	}
	names := args[1:]
	first, _, slashed := strings.Cut(args[0], "/")
	if slashed {
		names = make([]string, len(args))
		for i, arg := range args {
			of, name, _ := strings.Cut(arg, "/")
			if of != first || name == "" {
				return process.Usagef("%q is not of the form %s/NAME, as %q is", arg, first, args[0])
			}
			names[i] = name
		}
	}
	if t.kind, err = kind.Find(first); err != nil {
		return process.Usage(err)
	}
	for _, name := range names {
		if name == "" || strings.Contains(name, "/") {
			return process.Usagef("%q is no name of an object", name)
		}
	}
	t.names = names
	return t.check()
}

// check refuses what contradicts itself.
func (t *target) check() error {
	switch {
	case len(t.names) > 0 && t.everywhere:
		return process.Usagef("an object is named in one namespace: give -n instead of -A")
	case len(t.names) > 0 && t.labels != "":
		return process.Usagef("give names or --selector, not both")
	case len(t.names) > 0 && t.all:
		return process.Usagef("give names or --all, not both")
	}
	if _, err := labels.Parse(t.labels); err != nil {
		return process.Usagef("--selector: %w", err)
	}
	return nil
}

// parseActive is parse for commands that do something. It refuses kinds that
// are only shown, and a command line that means all objects without saying so.
func (t *target) parseActive(c *cobra.Command, args []string) error {
	if err := t.parse(args); err != nil {
		return err
	}
	if t.kind.Request == "" {
		return process.Usagef("there is nothing to %s of %s; weir get shows them", c.Name(), t.kind.Resource.Resource)
	}
	if len(t.names) == 0 && !t.all && !t.everywhere && t.labels == "" {
		return process.Usagef("name what to %s, or choose it by --selector, --all or --all-namespaces", c.Name())
	}
	return nil
}

// connect returns the objects of the kind where they are to be looked for.
func (t *target) connect() (cluster.Objects, error) {
	c, err := t.flags.Connect()
	if err != nil {
		return cluster.Objects{}, err
	}
	if t.everywhere || t.kind.ClusterScoped {
		return c.Objects(t.kind.Resource, ""), nil
	}
	return c.Objects(t.kind.Resource, c.Namespace), nil
}

// resolve returns the objects that are meant. Those that are missing are told;
// if ignore is set they are not.
func (t *target) resolve(ctx context.Context, objects cluster.Objects, ignore bool) ([]unstructured.Unstructured, error) {
	if len(t.names) == 0 {
		return objects.List(ctx, cluster.Selection{Labels: t.labels})
	}
	var out []unstructured.Unstructured
	var err error
	for _, name := range t.names {
		o, getErr := objects.Get(ctx, name)
		switch {
		case getErr == nil:
			out = append(out, *o)
		case !apierrors.IsNotFound(getErr):
			return out, getErr
		case !ignore:
			if objects.Namespace != "" {
				getErr = fmt.Errorf("%w in namespace %s", getErr, objects.Namespace)
			}
			t.env.Fail(getErr)
			err = process.ErrReported
		}
	}
	return out, err
}

// nothing tells that nothing was found, in kubectl's words.
func (t *target) nothing(objects cluster.Objects) {
	if objects.Namespace == "" {
		t.env.Note("No resources found")
		return
	}
	t.env.Note("No resources found in %s namespace.", objects.Namespace)
}

// each does something to each object that is meant. What fails is told and
// does not stop the rest.
func (t *target) each(ctx context.Context, do func(cluster.Objects, *unstructured.Unstructured) error) error {
	objects, err := t.connect()
	if err != nil {
		return err
	}
	all, err := t.resolve(ctx, objects, false)
	if err != nil && !errors.Is(err, process.ErrReported) {
		return err
	}
	if len(all) == 0 && err == nil {
		t.nothing(objects)
	}
	for i := range all {
		one := all[i].DeepCopy()
		if doErr := do(objects.In(one.GetNamespace()), one); doErr != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			t.fail(one, doErr)
			err = process.ErrReported
		}
	}
	return err
}

// title is how an object is called in messages.
func (t *target) title(o *unstructured.Unstructured) string {
	if t.everywhere && !t.kind.ClusterScoped {
		return t.kind.Title(o.GetName()) + " in namespace " + o.GetNamespace()
	}
	return t.kind.Title(o.GetName())
}

// fail tells what went wrong with an object.
func (t *target) fail(o *unstructured.Unstructured, err error) {
	t.env.Fail(fmt.Errorf("%s: %w", t.title(o), err))
}

// complete offers kinds, then names of their objects.
func (t *target) complete(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		var out []cobra.Completion
		for _, k := range kind.All() {
			if k.Request != "" || c.Name() == "get" {
				out = append(out, k.Singular)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	k, err := kind.Find(args[0])
	if err != nil || t.everywhere {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := t.flags.Complete(c.Context(), k.Resource, k.ClusterScoped)
	var out []cobra.Completion
	for _, name := range names {
		if !slices.Contains(args[1:], name) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
