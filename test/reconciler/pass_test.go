package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// patience bounds what converges; namespaces take the longest to go.
const patience = 60 * time.Second

// owner NAME: requests come from that owner. Owners that share have field
// managers of their own.
func (w *world) setOwner(c *call) error {
	w.owner = c.args[0]
	w.renew()
	return nil
}

// component DIGEST: the owner's digest.
func (w *world) setComponent(c *call) error {
	w.component = c.args[0]
	return nil
}

// identity NAME: requests act as that ServiceAccount of the namespace.
func (w *world) setIdentity(c *call) error {
	config := w.cluster.ServiceAccount(w.t, w.namespace, c.args[0])
	own, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	w.identity = w.recorder.Client(own)
	return nil
}

// clock DURATION: time passes.
func (w *world) setClock(c *call) error {
	d, err := time.ParseDuration(c.args[0])
	w.offset += d
	return err
}

// release [KIND NAME]: requests let go of the object.
func (w *world) setRelease(c *call) error {
	w.release = nil
	if len(c.args) == 0 {
		return nil
	}
	k, _, err := w.key(c.args[0], c.args[1])
	w.release = append(w.release, k)
	return err
}

// forget: the owner's inventory is lost.
func (w *world) loseInventory(*call) error {
	delete(w.stores, w.owner)
	return nil
}

// recover KIND...: the inventory is rebuilt from the stamps.
func (w *world) recoverInventory(c *call) error {
	var kinds []schema.GroupVersionKind
	for _, kind := range c.args {
		m, err := w.admin.RESTMapper().RESTMapping(schema.ParseGroupKind(kind))
		if err != nil {
			return err
		}
		kinds = append(kinds, m.GroupVersionKind)
	}
	c.args = nil
	q, err := w.request(c)
	if err != nil {
		return err
	}
	_, err = w.reconciler.Recover(context.Background(), q, kinds)
	return err
}

// options KEY=VALUE...: a new process with these options and no others.
func (w *world) setOptions(c *call) error {
	w.options = reconciler.ReconcilerOptions{}
	for _, arg := range c.args {
		key, value, _ := strings.Cut(arg, "=")
		if err := w.option(key, value); err != nil {
			return err
		}
	}
	w.renew()
	return nil
}

func (w *world) option(key, value string) (err error) {
	o := &w.options
	switch key {
	case "adoption":
		o.AdoptionPolicy = new(reconciler.AdoptionPolicy(value))
	case "update":
		o.UpdatePolicy = new(reconciler.UpdatePolicy(value))
	case "delete":
		o.DeletePolicy = new(reconciler.DeletePolicy(value))
	case "namespaces":
		o.MissingNamespacesPolicy = new(reconciler.MissingNamespacesPolicy(value))
	case "conflict":
		o.Conflict = policy.Conflict(value)
	case "immutable":
		o.Immutable = policy.Immutable(value)
	case "reapply":
		o.ReapplyInterval, err = time.ParseDuration(value)
	case "reclaim": // name, name* or name:operation
		m := policy.Manager{}
		m.Name, m.Operation, _ = strings.Cut(value, ":")
		m.Name, m.Prefix = strings.CutSuffix(m.Name, "*")
		o.Reclaim = append(o.Reclaim, m)
	case "heir":
		w.heir = value
	case "managed": // kind.group
		gk := schema.ParseGroupKind(strings.ReplaceAll(value, "NS", w.namespace))
		o.ManagedTypes = append(o.ManagedTypes, policy.Type{Group: gk.Group, Kind: gk.Kind})
	case "sharing":
		o.Sharing = &stamp.Shared{
			Peer:    func(manager string) bool { return strings.HasPrefix(manager, name+"/") },
			Managed: map[string]string{name + "/managed": value},
			Created: map[string]string{name + "/created": value},
		}
	case "parallel":
		o.Parallel, err = strconv.Atoi(value)
	case "prune":
		o.Prune = policy.Prune(value)
	default:
		err = fmt.Errorf("option %q is unknown", key)
	}
	return err
}

// plan FILE...: prints what an apply would do, without -- or with --delete.
func (w *world) plan(c *call) error {
	whole := len(c.args) > 0 && c.args[0] == "--delete"
	if whole {
		c.args = nil
	}
	q, err := w.request(c)
	if err != nil {
		return err
	}
	w.begin()
	do := w.reconciler.Plan
	if whole {
		do = w.reconciler.PlanDelete
	}
	p, err := do(context.Background(), q)
	if err != nil {
		return err
	}
	for _, ns := range p.Namespaces {
		fmt.Fprintf(c.out, "Namespace %s\n", w.neutral(ns))
	}
	for _, list := range [][]plan.Action{p.Apply, p.Remove} {
		for _, a := range list {
			w.print(c, plan.Outcome{Action: a})
		}
	}
	return nil
}

func (w *world) begin() {
	w.recorder.Reset()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observed = nil
}

// apply FILE...: one pass. Its outcomes are printed, also when it fails.
func (w *world) apply(c *call) error { return w.once(c, w.reconciler.Apply) }

// delete: one pass.
func (w *world) delete(c *call) error { return w.once(c, w.reconciler.Delete) }

func (w *world) once(c *call, pass func(context.Context, reconciler.Request) (*reconciler.Result, error)) error {
	q, err := w.request(c)
	if err != nil {
		return err
	}
	w.begin()
	res, err := pass(context.Background(), q)
	if res == nil {
		return err
	}
	for _, o := range res.Outcomes {
		w.print(c, o)
	}
	if res.Done {
		fmt.Fprintln(c.out, "done")
	}
	return err
}

// print prints an outcome as a line.
func (w *world) print(c *call, o plan.Outcome) {
	words := []string{o.String() + ":", string(o.Verb)}
	for _, r := range o.Reasons {
		words = append(words, string(r))
	}
	if o.Err != nil {
		words = append(words, fmt.Sprintf("(%s)", strings.TrimPrefix(fmt.Sprintf("%T", o.Err), "*")))
	}
	line := strings.Join(words, " ")
	fmt.Fprintln(c.out, w.neutral(line))
}

// converge FILE...: passes until one is done. Prints the last one.
func (w *world) converge(c *call) error { return w.loop(c, w.reconciler.Apply) }

// teardown: deletes until nothing is left.
func (w *world) teardown(c *call) error { return w.loop(c, w.reconciler.Delete) }

func (w *world) loop(c *call, pass func(context.Context, reconciler.Request) (*reconciler.Result, error)) error {
	q, err := w.request(c)
	if err != nil {
		return err
	}
	w.begin()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	backoff := reconciler.Backoff{First: 10 * time.Millisecond, Most: 500 * time.Millisecond}
	res, err := reconciler.Converge(ctx, backoff, func(ctx context.Context) (*reconciler.Result, error) {
		return pass(ctx, q)
	})
	if res != nil {
		for _, o := range res.Outcomes {
			w.print(c, o)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w, %v", err, res.Outcomes)
	}
	return err
}

// observed: prints what the last pass told its observer.
func (w *world) printObserved(c *call) error {
	for _, o := range w.observed {
		w.print(c, o)
	}
	return nil
}

// allowed: prints whether the set may be deleted, and why not.
func (w *world) allowed(c *call) error {
	q, err := w.request(c)
	if err != nil {
		return err
	}
	w.begin()
	ok, why, err := w.reconciler.IsDeletionAllowed(context.Background(), q)
	if err == nil {
		fmt.Fprintln(c.out, w.neutral(strings.TrimSpace(fmt.Sprint(ok, " ", why))))
	}
	return err
}

// inventory: prints the items that are stored.
func (w *world) printInventory(c *call) error {
	v, err := w.store().Load(context.Background(), w.owner)
	for _, it := range v.Items {
		fmt.Fprintln(c.out, w.neutral(fmt.Sprintf("%s %s", it.Key, it.State)))
	}
	return err
}
