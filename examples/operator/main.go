// Command operator runs web sites: for each Site it keeps a ServiceAccount, a
// ConfigMap, a Deployment and a Service. It shows how an operator uses package
// reconciler, and is no more than that.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// name is that of the operator among all of the cluster.
const name = "sites.example.weir.dev"

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.Default().Handler()))
	if err := run(ctrl.SetupSignalHandler(), ctrl.GetConfigOrDie(), ctrl.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs the operator until the context ends. It watches the metadata of its
// own dependents and of nobody else's.
func run(ctx context.Context, config *rest.Config, options ctrl.Options) error {
	gv := schema.GroupVersion{Group: "example.weir.dev", Version: "v1"}
	options.Scheme = runtime.NewScheme()
	options.Scheme.AddKnownTypes(gv, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(options.Scheme, gv)
	owned, err := labels.Parse(stamp.Prefix(name).Label)
	if err != nil {
		return err
	}
	options.Cache.DefaultLabelSelector = owned
	options.Cache.ByObject = map[client.Object]cache.ByObject{&Site{}: {Label: labels.Everything()}}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	o := &operator{mgr.GetClient(), reconciler.NewReconciler(name, mgr.GetClient(), reconciler.ReconcilerOptions{
		UpdatePolicy: new(reconciler.UpdatePolicySsaOverride),
		Metadata:     mgr.GetCache(),
	})}
	b := builder.ControllerManagedBy(mgr).For(&Site{})
	for _, kind := range []metav1.TypeMeta{
		{APIVersion: "v1", Kind: "ServiceAccount"}, {APIVersion: "v1", Kind: "ConfigMap"},
		{APIVersion: "apps/v1", Kind: "Deployment"}, {APIVersion: "v1", Kind: "Service"},
	} {
		b.Owns(&metav1.PartialObjectMetadata{TypeMeta: kind})
	}
	if err := b.Complete(reconcile.AsReconciler(o.Client, o)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// operator reconciles sites.
type operator struct {
	client.Client

	reconciler *reconciler.Reconciler
}

// Reconcile makes one pass for a site. What is not done then is done when a
// dependent changes, or in a while.
func (o *operator) Reconcile(ctx context.Context, site *Site) (reconcile.Result, error) {
	objects, err := dependents(site)
	if err != nil {
		return reconcile.Result{}, err
	}
	pass, going := o.reconciler.Apply, !site.DeletionTimestamp.IsZero()
	if going {
		pass = o.reconciler.Delete
	} else if controllerutil.AddFinalizer(site, name) {
		if err := o.Update(ctx, site); err != nil {
			return reconcile.Result{}, err
		}
	}
	res, err := pass(ctx, reconciler.Request{
		Owner:     reconciler.Owner{ID: site.Namespace + "/" + site.Name}, // no object leaves the cluster
		Namespace: site.Namespace, Objects: objects, Store: o.store(site),
	})
	switch {
	case res == nil: // nothing was tried
		return reconcile.Result{}, err
	case going && res.Done:
		controllerutil.RemoveFinalizer(site, name)
		return reconcile.Result{}, o.Update(ctx, site)
	}
	before := site.Status.DeepCopy()
	meta.SetStatusCondition(&site.Status.Conditions, ready(site, res.Done, err))
	var failed error
	if site.Status.Inventory, failed = inventory.Encode(res.Inventory.Items); failed == nil && !equality.Semantic.DeepEqual(before, &site.Status) {
		failed = o.Status().Update(ctx, site)
	}
	err = errors.Join(err, failed)
	if res.RequeueAfter == 0 && !res.Done {
		res.RequeueAfter = 10 * time.Second
	}
	return reconcile.Result{RequeueAfter: res.RequeueAfter}, err
}

// store keeps the inventory in the status. The last commit of a pass is left to
// Reconcile, which writes it together with the condition.
func (o *operator) store(site *Site) inventory.Store {
	return &inventory.Field{
		Defer: true,
		Get: func(context.Context) (items []inventory.Item, version string, err error) {
			if len(site.Status.Inventory) > 0 {
				items, err = inventory.Decode(site.Status.Inventory)
			}
			return items, site.ResourceVersion, err
		},
		Set: func(ctx context.Context, _ string, items []inventory.Item) (version string, err error) {
			if site.Status.Inventory, err = inventory.Encode(items); err == nil {
				err = o.Status().Update(ctx, site)
			}
			if apierrors.IsConflict(err) {
				err = errors.Join(inventory.ErrConflict, err)
			}
			return site.ResourceVersion, err
		},
	}
}

func ready(site *Site, done bool, err error) metav1.Condition {
	c := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: site.Generation}
	switch {
	case err != nil:
		c.Reason, c.Message = "Failed", err.Error()
	case !done:
		c.Reason, c.Message = "Progressing", "waiting for dependents"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "Succeeded", "all dependents are ready"
	}
	return c
}
