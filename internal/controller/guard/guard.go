// Package guard keeps the admission policies of package protect in the cluster:
// it installs them, sets right what others change, and removes those that are
// not wanted any more. It says whether they are in force. What they refuse is
// not decided here.
package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/protect"
)

// DefaultAgain is what [Options.Again] means when it is zero.
const DefaultAgain = 5 * time.Minute

// patience is how long the cache may take to fill.
const patience = 30 * time.Second

// first is how long the keeper waits after the first failure, and twice as long
// after each further one.
const first = time.Second

// Cache is where the keeper sees the policies and hears of changes.
// [cache.Cache] is one.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Options are what a [Keeper] works with.
type Options struct {
	// Client asks the API server itself.
	Client client.Client
	// Cache has the policies and bindings of the cluster, at least those with the
	// label [protect.LabelPart].
	Cache Cache
	// Targets is the guard of protected targets, whose state is reported.
	Targets protect.Guard
	// Off has Targets removed instead of kept.
	Off bool
	// Others returns the guards that are kept in any case. It is asked whenever
	// the keeper looks.
	Others func() ([]protect.Guard, error)
	// Again is how often a cluster is asked that had no admission policies, or
	// refused to take them. Zero means [DefaultAgain].
	Again time.Duration
	// Report is told each new state, by one goroutine. Nil means nobody.
	Report func(State)
	Log    logr.Logger
}

// Keeper keeps the policies while it runs. It is a runnable of a manager, for
// the replica that leads.
type Keeper struct {
	Options
	wake chan struct{}

	mu    sync.Mutex
	state State
}

// New returns a keeper that does nothing before it is started.
func New(o Options) *Keeper {
	o.Again = cmp.Or(o.Again, DefaultAgain)
	return &Keeper{Options: o, wake: make(chan struct{}, 1), state: State{Reason: Unknown, Message: "the policies have not been looked at yet"}}
}

// NeedLeaderElection says that one replica is enough.
func (k *Keeper) NeedLeaderElection() bool { return true }

// State returns what is known of the policies. It may be called at any time.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// Start keeps the policies until the context ends. No failure ends it: what
// cannot be installed is reported, and tried again.
func (k *Keeper) Start(ctx context.Context) error {
	watching := false
	for failures := 0; ; {
		state := k.look(ctx, &watching)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the program ends
		}
		k.say(state)
		var again <-chan time.Time
		switch state.Reason {
		case NotInstalled:
			again = time.After(min(k.Again, first<<min(failures, 16)))
			failures++
		case NotServed:
			again = time.After(k.Again)
		default:
			failures = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again:
		case <-k.wake:
		}
	}
}

// look has the policies as they should be, and returns how they are.
func (k *Keeper) look(ctx context.Context, watching *bool) State {
	err := k.watch(ctx, watching)
	if err == nil {
		err = k.keep(ctx)
	}
	switch {
	case meta.IsNoMatchError(err):
		return State{Reason: NotServed, Message: "the API server has no ValidatingAdmissionPolicies (" + v1.SchemeGroupVersion.String() + "); Kubernetes 1.30 and later do"}
	case err != nil:
		return State{Reason: NotInstalled, Message: err.Error()}
	case k.Off:
		return State{Reason: TurnedOff, Message: "protection is turned off"}
	}
	return State{InForce: true, Reason: InForce, Message: "the policies are installed"}
}

// watch has the keeper woken by changes. Informers are asked for only once the
// API server is known to serve the kinds: they would never be in sync.
func (k *Keeper) watch(ctx context.Context, watching *bool) error {
	if *watching {
		return nil
	}
	kinds := map[string]client.Object{
		"ValidatingAdmissionPolicy":        &v1.ValidatingAdmissionPolicy{},
		"ValidatingAdmissionPolicyBinding": &v1.ValidatingAdmissionPolicyBinding{},
	}
	for kind := range kinds {
		gk := schema.GroupKind{Group: v1.GroupName, Kind: kind}
		if _, err := k.Client.RESTMapper().RESTMapping(gk, v1.SchemeGroupVersion.Version); err != nil {
			return err
		}
	}
	for kind, object := range kinds {
		wait, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		informer, err := k.Cache.GetInformer(wait, object)
		if err == nil {
			_, err = informer.AddEventHandler(k.handler())
		}
		if err != nil {
			return fmt.Errorf("watching objects of kind %s: %w", kind, err)
		}
	}
	*watching = true
	return nil
}

func (k *Keeper) handler() toolscache.ResourceEventHandler {
	wake := func(any) {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: wake, DeleteFunc: wake, UpdateFunc: func(_, o any) { wake(o) },
	}
}

// keep goes through all objects. Its error is the first thing that it could not
// do; what comes after is tried nevertheless.
func (k *Keeper) keep(ctx context.Context) error {
	var errs []error
	do := func(g protect.Guard, what func(context.Context, client.Object) error) {
		for _, o := range objects(g) {
			if err := what(ctx, o); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if k.Off {
		do(k.Targets, k.remove)
	} else {
		do(k.Targets, k.settle)
	}
	others, err := k.Others()
	if err != nil {
		errs = append(errs, err)
	}
	for _, g := range others {
		do(g, k.settle)
	}
	if len(errs) > 1 {
		return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
	}
	return errors.Join(errs...)
}

// objects are the objects of a guard, the policy first.
func objects(g protect.Guard) []client.Object {
	out := []client.Object{g.Policy}
	for _, b := range g.Bindings {
		out = append(out, b)
	}
	return out
}
