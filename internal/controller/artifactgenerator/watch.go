package artifactgenerator

import (
	"context"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/budget"
	"github.com/weir-dev/weir/internal/controller/chain"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/publish"
	"github.com/weir-dev/weir/internal/controller/source"
)

// The indexes of generators: by their sources, and by their UIDs.
const (
	indexSource = ".spec.sources"
	indexUID    = ".metadata.uid"
)

// Watch makes the manager call r whenever something happened that may concern a
// generator, and for the generators that come through wake.
func (r *Reconciler) Watch(ctx context.Context, mgr ctrl.Manager, wake <-chan event.GenericEvent, o controller.Options) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("artifactgenerator").
		For(&v1beta1.ArtifactGenerator{}, builder.WithPredicates(asked())).
		// What we made was changed, or taken away.
		Watches(&sourcev1.ExternalArtifact{}, handler.EnqueueRequestsFromMapFunc(owner), builder.WithPredicates(moved())).
		WatchesRawSource(ctrlsource.Channel(wake, &handler.EnqueueRequestForObject{})).
		WithOptions(o)
	if !r.NoNamespaces {
		b = b.WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.manager), builder.WithPredicates(moved()))
	}
	for _, kind := range source.Kinds() {
		b = b.Watches(source.New(kind), handler.EnqueueRequestsFromMapFunc(r.users(kind)), builder.WithPredicates(source.News()))
	}
	return b.Complete(r)
}

func index(ctx context.Context, i client.FieldIndexer) error {
	for name, keys := range map[string]func(*v1beta1.ArtifactGenerator) []string{
		indexSource: uses, chain.Index: chain.Makes,
		indexUID: func(g *v1beta1.ArtifactGenerator) []string { return []string{string(g.UID)} },
	} {
		err := i.IndexField(ctx, &v1beta1.ArtifactGenerator{}, name, func(o client.Object) []string {
			g, ok := o.(*v1beta1.ArtifactGenerator)
			if !ok {
				return nil
			}
			return keys(g)
		})
		if err != nil {
			return err
		}
	}
	return i.IndexField(ctx, &sourcev1.ExternalArtifact{}, publish.IndexGenerator, func(o client.Object) []string {
		if uid := o.GetLabels()[v1beta1.LabelGenerator]; uid != "" {
			return []string{uid}
		}
		return nil
	})
}

func uses(g *v1beta1.ArtifactGenerator) []string {
	keys := make([]string, len(g.Spec.Sources))
	for i, s := range g.Spec.Sources {
		keys[i] = source.RefOf(s, g.Namespace).String()
	}
	return keys
}

// users maps a source to the generators that use it.
func (r *Reconciler) users(kind v1beta1.SourceKind) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		ref := source.Ref{Kind: kind, NamespacedName: client.ObjectKeyFromObject(o)}
		return r.generators(ctx, indexSource, ref.String())
	}
}

// generators returns the generators with that value in the index.
func (r *Reconciler) generators(ctx context.Context, index, value string) []reconcile.Request {
	var list v1beta1.ArtifactGeneratorList
	if err := r.Client.List(ctx, &list, client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing generators", "index", index, "value", value)
		return nil
	}
	out := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		out[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return out
}

// manager maps a namespace to the generator that it is labelled with.
func (r *Reconciler) manager(ctx context.Context, o client.Object) []reconcile.Request {
	uid := o.GetLabels()[v1beta1.LabelGenerator]
	if uid == "" {
		return nil
	}
	return r.generators(ctx, indexUID, uid)
}

// owner maps an ExternalArtifact to the generator that made it. Of an update
// both states are mapped, so one that no longer names its generator does.
func owner(_ context.Context, o client.Object) []reconcile.Request {
	a, ok := o.(*sourcev1.ExternalArtifact)
	if !ok {
		return nil
	}
	own, ok := external.OwnerOf(a)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: own.Namespace, Name: own.Name}}}
}

// moved lets all changes of objects pass, but not that they are there when the
// program starts, for then every generator is looked at.
func moved() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
		},
	}
}

// asked lets changes of a generator pass by which its user asks for something.
func asked() predicate.Predicate {
	annotations := []string{
		v1beta1.AnnotationRequestedAt, v1beta1.AnnotationReconcile, v1beta1.AnnotationReconcileEvery, v1beta1.AnnotationPrune,
		budget.Annotation, budget.Approval,
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		for _, key := range annotations {
			if e.ObjectOld.GetAnnotations()[key] != e.ObjectNew.GetAnnotations()[key] {
				return true
			}
		}
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
	}}
}
