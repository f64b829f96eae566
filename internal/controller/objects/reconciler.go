package objects

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/controller/membership"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// Options are what differs between programs. Direct and Namespaces must be set.
type Options struct {
	// Direct reads from the API server and writes to it, where a request brings
	// no client of its own.
	Direct client.Client
	// Namespaces reads namespaces from a cache.
	Namespaces client.Reader
	// Metadata reads targets from a cache; nil means that all are read anew.
	Metadata client.Reader
	// Parallel is how many targets are written at a time.
	Parallel int
	// Now is the clock.
	Now func() time.Time
}

// NewReconciler returns the reconciler of the targets of all replications.
func NewReconciler(o Options) *reconciler.Reconciler {
	return reconciler.NewReconciler(replicate.Name, o.Direct, reconciler.ReconcilerOptions{
		AdoptionPolicy:          ptr.To(reconciler.AdoptionPolicyNever),
		MissingNamespacesPolicy: ptr.To(reconciler.MissingNamespacesPolicyDoNotCreate),
		Conflict:                policy.Fail,
		Prune:                   policy.PruneAlways,
		FieldOwner:              replicate.Lifecycle,
		Sharing:                 replicate.Family(),
		Health:                  always{},
		Director:                leaver{o.Namespaces},
		Metadata:                o.Metadata,
		Parallel:                o.Parallel,
		Now:                     o.Now,
	})
}

// leaver lets go of what is in a namespace that is going away: it goes too.
type leaver struct{ namespaces client.Reader }

// Direct implements [reconciler.Director].
func (l leaver) Direct(live *unstructured.Unstructured) plan.Directive {
	if live.GetNamespace() == "" {
		return plan.Directive{}
	}
	var n corev1.Namespace
	err := l.namespaces.Get(context.Background(), client.ObjectKey{Name: live.GetNamespace()}, &n)
	if err != nil || !membership.IsTerminating(&n) {
		return plan.Directive{}
	}
	return plan.Directive{HandOver: true, Reason: "the namespace is going away"}
}

// always is the health of targets: a replication keeps what objects say, and
// not what becomes of them.
type always struct{}

func (always) Analyze(*unstructured.Unstructured, []string) (health.Status, string) {
	return health.Current, ""
}
