package objects

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/controller/membership"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/object"
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
		Gone:                    departed{o.Namespaces, o.Direct}.Gone,
		Metadata:                o.Metadata,
		Parallel:                o.Parallel,
		Now:                     o.Now,
	})
}

// departed tells what goes, or went, with its namespace.
type departed struct {
	namespaces client.Reader
	direct     client.Reader
}

// Gone reports whether the namespace of an object is going away, or is gone:
// the cache may not know it yet.
func (d departed) Gone(ctx context.Context, k object.Key) (bool, error) {
	if k.Namespace == "" {
		return false, nil
	}
	var n corev1.Namespace
	err := d.namespaces.Get(ctx, client.ObjectKey{Name: k.Namespace}, &n)
	if apierrors.IsNotFound(err) {
		err = d.direct.Get(ctx, client.ObjectKey{Name: k.Namespace}, &n)
	}
	if err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	return membership.IsTerminating(&n), nil
}

// always is the health of targets: a replication keeps what objects say, and
// not what becomes of them.
type always struct{}

func (always) Analyze(*unstructured.Unstructured, []string) (health.Status, string) {
	return health.Current, ""
}
