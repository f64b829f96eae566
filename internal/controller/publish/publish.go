// Package publish brings what was built to the cluster: artifacts into the
// store, and then into ExternalArtifacts that say so, in namespaces that it
// makes before if they are to be managed. It does what it is asked and returns
// what became of it as a value; it asks nobody whether it may, decides about no
// inventory, writes no status of a generator and tells nobody.
package publish

import (
	"context"
	"fmt"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/ledger"
	"github.com/weir-dev/weir/internal/controller/space"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// IndexGenerator is the index of ExternalArtifacts by the generator that they
// are labelled with, which the cache behind Options.Client must have.
const IndexGenerator = ".metadata.labels." + v1beta1.LabelGenerator

// Options are what a [Publisher] works with. All but Overrides and NoNamespaces
// must be set.
type Options struct {
	// Client reads ExternalArtifacts and the metadata of namespaces from a cache
	// that sees its own writes, and writes the statuses of the former.
	Client client.Client
	// Direct reads from the API server; its writes are all others.
	Direct client.Client
	Store  store.Store
	// URL returns where consumers find a path of the store.
	URL func(path string) string
	// Overrides are field managers whose fields are drift in namespaces, beside
	// those of kubectl.
	Overrides []string
	// NoNamespaces says that the cache has none of them, which costs a read of
	// each managed namespace in each request.
	NoNamespaces bool
	// Ledger keeps what is known of the objects from one request to the next.
	Ledger *ledger.Ledger
}

// Publisher publishes artifacts. It is safe for concurrent use by different
// generators.
type Publisher struct {
	Options

	objects *reconciler.Reconciler
	reclaim []policy.Manager // of namespaces
}

// New returns a publisher.
func New(o Options) *Publisher { return &Publisher{o, newObjects(o), space.Reclaim(o.Overrides)} }

// Request is what one generator wants.
type Request struct {
	UID   types.UID
	Owner external.Owner
	// Artifacts and Namespaces are the whole set. What is known and not in it is
	// removed. The metadata of namespaces has the labels of the generator.
	Artifacts  []build.Artifact
	Namespaces []build.Namespace
	// Prune says that namespaces are deleted, and not only forgotten.
	Prune bool
	// Known are objects that may be there, beside those that name the
	// generator: its status may have been lost, or their labels.
	Known []object.Key
	// Keep are objects to leave alone.
	Keep []object.Key
}

// Outcome is what became of a request. It does not change.
type Outcome struct {
	// Published are the artifacts whose objects say what is stored, by key, with
	// the versions at which they do, and likewise the namespaces that say what is
	// wanted or are not to be touched.
	Published map[object.Key]string
	// Seen are the versions of all objects that say they are the generator's, as
	// far as they are known. It is empty for those that are on their way out.
	Seen map[object.Key]string
	// Left are the objects that are still there, published or not, but for those
	// to keep.
	Left map[object.Key]bool
	// Changes are what was done, in the order of the request.
	Changes []Change
	// Failed are the objects that could not be brought to what is wanted, or
	// removed.
	Failed map[object.Key]*fail.Error
}

// Published returns the objects that say they are a generator's, in all
// namespaces, and must not be changed.
func (p *Publisher) Published(ctx context.Context, uid types.UID) (map[object.Key]*sourcev1.ExternalArtifact, error) {
	var list sourcev1.ExternalArtifactList
	if err := p.Client.List(ctx, &list, client.MatchingFields{IndexGenerator: string(uid)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ExternalArtifacts: %w", err)
	}
	out := make(map[object.Key]*sourcev1.ExternalArtifact, len(list.Items))
	for i := range list.Items {
		o := &list.Items[i]
		out[external.KeyOf(o.Namespace, o.Name)] = o
	}
	return out, nil
}

// Versions returns the versions of all objects that say they are a
// generator's, ExternalArtifacts and namespaces.
func (p *Publisher) Versions(ctx context.Context, uid types.UID) (map[object.Key]string, error) {
	live, err := p.Published(ctx, uid)
	if err != nil {
		return nil, err
	}
	out := make(map[object.Key]string, len(live))
	for k, o := range live {
		out[k] = o.ResourceVersion
	}
	if p.NoNamespaces {
		return out, nil
	}
	list, err := p.namespaces(ctx, uid)
	if err != nil {
		return nil, err
	}
	for i := range list {
		out[space.KeyOf(list[i].Name)] = list[i].ResourceVersion
	}
	return out, nil
}

// Standing returns the UIDs of all objects that say they are a generator's and
// that nobody has deleted yet.
func (p *Publisher) Standing(ctx context.Context, uid types.UID) (map[object.Key]types.UID, error) {
	live, err := p.Published(ctx, uid)
	if err != nil {
		return nil, err
	}
	out := make(map[object.Key]types.UID, len(live))
	for k, o := range live {
		if o.DeletionTimestamp.IsZero() {
			out[k] = o.UID
		}
	}
	if p.NoNamespaces {
		return out, nil
	}
	list, err := p.namespaces(ctx, uid)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].DeletionTimestamp.IsZero() {
			out[space.KeyOf(list[i].Name)] = list[i].UID
		}
	}
	return out, nil
}

// namespaces returns the metadata of the namespaces that say they are a
// generator's.
func (p *Publisher) namespaces(ctx context.Context, uid types.UID) ([]metav1.PartialObjectMetadata, error) {
	list := namespaces()
	if err := p.Client.List(ctx, list, client.MatchingLabels{v1beta1.LabelGenerator: string(uid)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	return list.Items, nil
}

// Publish makes the namespaces, stores the artifacts, makes their objects say so and removes the
// other objects. What fails is left as it was and does not stop the rest. An error
// means that nothing can be said about any of them.
func (p *Publisher) Publish(ctx context.Context, q Request) (*Outcome, error) {
	r := &run{Publisher: p, Request: q, failed: map[object.Key]*fail.Error{}}
	r.put(ctx)
	var err error
	if r.live, err = p.Published(ctx, q.UID); err != nil {
		return nil, err
	}
	result, err := p.objects.Apply(ctx, r.request(false))
	if result == nil {
		return nil, &fail.Error{Reason: v1beta1.ReasonReconciliationFailed, Err: err}
	}
	r.judge(result)
	r.tell(ctx, result)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("publishing: %w", context.Cause(ctx))
	}
	return r.outcome(result), nil
}

// Withdraw removes the objects that are still the generator's. It is done when
// nothing is left; what could not be removed has failed. The files stay, for others may have taken a name over.
func (p *Publisher) Withdraw(ctx context.Context, q Request) (*Outcome, error) {
	r := &run{Publisher: p, Request: q, failed: map[object.Key]*fail.Error{}}
	var err error
	if r.live, err = p.Published(ctx, q.UID); err != nil {
		return nil, err
	}
	result, err := p.objects.Delete(ctx, r.request(true))
	if result == nil {
		return nil, &fail.Error{Reason: v1beta1.ReasonPruneFailed, Err: err}
	}
	r.judge(result)
	return r.outcome(result), nil
}

// Disclaim makes the objects of a generator say so whose files at the paths are
// gone.
func (p *Publisher) Disclaim(ctx context.Context, uid types.UID, gone map[object.Key]string) error {
	live, err := p.Published(ctx, uid)
	if err != nil {
		return err
	}
	var errs []error
	now := metav1.Now()
	for k, path := range gone {
		o := live[k]
		if o == nil || o.Status.Artifact == nil || o.Status.Artifact.Path != path {
			continue
		}
		if o = o.DeepCopy(); external.Disclaim(o, now) {
			errs = append(errs, p.Client.Status().Update(ctx, o, client.FieldOwner(fieldOwner)))
		}
	}
	return fail.Join(errs...)
}
