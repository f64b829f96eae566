package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/space"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// again is when to look after what is in somebody else's hands.
const again = 5 * time.Second

// version is that of both kinds of objects.
const version = space.Version

// tellers is how many statuses are written at a time.
const tellers = 8

// run is one request on its way.
type run struct {
	*Publisher
	Request

	stored map[object.Key]store.Artifact             // by put
	live   map[object.Key]*sourcev1.ExternalArtifact // as read after put
	told   map[object.Key]told                       // by tell

	mu     sync.Mutex
	failed map[object.Key]*fail.Error // guarded by mu
}

// told is what became of the status of one object: its version, whether it had
// to be written, whether it tells of another artifact than before, and what it
// tells of.
type told struct {
	version          string
	changed, revised bool
	artifact         *meta.Artifact
}

func (r *run) fail(k object.Key, err *fail.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[k] = err
}

// put stores the artifacts.
func (r *run) put(ctx context.Context) {
	made := make([]store.Artifact, len(r.Artifacts))
	var group errgroup.Group
	group.SetLimit(4 * runtime.GOMAXPROCS(0))
	for i, a := range r.Artifacts {
		group.Go(func() error {
			var err error
			if made[i], err = r.Store.Put(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, a.Tree, a.Content); err != nil {
				r.fail(draft.Key(a), reasoned(err))
			}
			return nil
		})
	}
	_ = group.Wait()
	r.stored = make(map[object.Key]store.Artifact, len(made))
	for i, a := range r.Artifacts {
		if k := draft.Key(a); r.failed[k] == nil {
			r.stored[k] = made[i]
		}
	}
}

// request is what the object reconciler is asked for. What could not be stored
// is left alone.
func (r *run) request(ends bool) reconciler.Request {
	keys := append(slices.Collect(maps.Keys(r.live)), r.Known...)
	keep := make(map[object.Key]bool, len(r.Keep)+len(r.failed))
	for _, k := range r.Keep {
		keep[k] = true
	}
	for k := range r.failed {
		keep[k] = true
	}
	q := reconciler.Request{
		Owner:    reconciler.Owner{ID: string(r.UID)},
		Store:    r.Ledger.Open(r.UID, version, keys, keep),
		Director: space.Director{Prune: r.Prune, Ends: ends},
	}
	for _, n := range r.Namespaces {
		if !keep[space.KeyOf(n.Name)] {
			q.Objects = append(q.Objects, reconciler.Object{
				Manifest: space.Manifest(n.Name, n.Metadata), Reclaim: r.reclaim, Heir: space.Heir,
			})
		}
	}
	for _, a := range r.Artifacts {
		if k := draft.Key(a); !keep[k] {
			q.Objects = append(q.Objects, reconciler.Object{Manifest: external.Manifest(r.Owner, k, a.Metadata)})
		}
	}
	return q
}

// judge notes what could not be brought to what is wanted, and what could not
// be removed.
func (r *run) judge(result *reconciler.Result) {
	wanted := make(map[object.Key]bool, len(r.Artifacts)+len(r.Namespaces))
	for _, a := range r.Artifacts {
		wanted[draft.Key(a)] = true
	}
	for _, n := range r.Namespaces {
		wanted[space.KeyOf(n.Name)] = true
	}
	for _, o := range result.Outcomes {
		switch {
		case !wanted[o.Key] && o.Err != nil:
			r.fail(o.Key, &fail.Error{Reason: v1beta1.ReasonPruneFailed, Err: o.Err})
		case wanted[o.Key]:
			if err := failure(o); err != nil {
				r.fail(o.Key, err)
			}
		}
	}
}

// tell writes the statuses of the objects that do not say yet what is stored.
func (r *run) tell(ctx context.Context, result *reconciler.Result) {
	outcomes := make(map[object.Key]plan.Outcome, len(result.Outcomes))
	for _, o := range result.Outcomes {
		outcomes[o.Key] = o
	}
	now := metav1.Now().Rfc3339Copy() // as it comes back
	done := make([]told, len(r.Artifacts))
	var group errgroup.Group
	group.SetLimit(tellers)
	before := maps.Clone(r.failed) // which workers add to
	for i, a := range r.Artifacts {
		k := draft.Key(a)
		if before[k] != nil {
			continue
		}
		group.Go(func() error {
			var err error
			if done[i], err = r.tellOne(ctx, r.wanted(a), outcomes[k], now); err != nil {
				r.fail(k, &fail.Error{Reason: v1beta1.ReasonReconciliationFailed, Err: err})
			}
			return nil
		})
	}
	_ = group.Wait()
	r.told = make(map[object.Key]told, len(done))
	artifacts := make(map[object.Key]*meta.Artifact, len(done))
	for i, a := range r.Artifacts {
		if k := draft.Key(a); r.failed[k] == nil {
			r.told[k] = done[i]
			artifacts[k] = done[i].artifact
		}
	}
	r.Ledger.Tell(r.UID, artifacts)
}

// tellOne writes the status of one object, at the version that it has after
// the outcome, if there is anything to write.
func (r *run) tellOne(ctx context.Context, want external.Artifact, o plan.Outcome, now metav1.Time) (told, error) {
	var is *sourcev1.ExternalArtifact
	if seen := r.live[o.Key]; !o.Verb.Writes() && seen != nil && seen.ResourceVersion == o.Pre.ResourceVersion {
		is = seen.DeepCopy()
	} else {
		is = &sourcev1.ExternalArtifact{}
		if err := r.Direct.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, is); err != nil {
			return told{}, fmt.Errorf("reading %s: %w", o.Key, err)
		}
	}
	was, at := is.Status.Artifact, is.ResourceVersion
	if !want.Tell(is, now) {
		return told{version: is.ResourceVersion, artifact: is.Status.Artifact}, nil
	}
	revised := was == nil || was.Revision != want.Revision || was.Digest != want.Digest
	// Whole, for a merge patch cannot say null, which an input may be.
	if err := r.Client.Status().Update(ctx, is, client.FieldOwner(fieldOwner)); err != nil {
		return told{}, fmt.Errorf("writing the status of %s: %w", o.Key, err)
	}
	r.Ledger.Move(r.UID, o.Key, at, is.ResourceVersion)
	return told{is.ResourceVersion, true, revised, is.Status.Artifact}, nil
}

func (r *run) wanted(a build.Artifact) external.Artifact {
	k := draft.Key(a)
	s := r.stored[k]
	return external.Artifact{
		Digest: s.Digest, Path: s.Path, URL: r.URL(s.Path), Revision: a.Revision,
		Size: s.Size, OriginRevision: a.OriginRevision, Inputs: a.Inputs, Before: r.Ledger.Told(r.UID, k),
	}
}

// failure tells why an object could not be brought to what is wanted, nil if
// it was.
func failure(o plan.Outcome) *fail.Error {
	if conflict, ok := errors.AsType[*fault.OwnerConflict](o.Err); ok {
		return &fail.Error{Reason: v1beta1.ReasonOwnershipConflict, Class: fail.Wait, Err: conflict}
	}
	switch {
	case o.Err != nil:
		return &fail.Error{Reason: v1beta1.ReasonReconciliationFailed, Err: o.Err}
	case o.Verb == plan.Wait:
		return &fail.Error{
			Reason: v1beta1.ReasonReconciliationFailed, Class: fail.Wait, After: again, Err: fmt.Errorf("%s: %s", o.Key, awaited(o)),
		}
	}
	return nil
}

// awaited says what an object waits for.
func awaited(o plan.Outcome) string {
	switch {
	case slices.Contains(o.Reasons, plan.NamespaceTerminating):
		return fmt.Sprintf("the namespace %q is being deleted, and is waited for", o.Namespace)
	case slices.Contains(o.Reasons, plan.Terminating):
		return "it is being deleted, and is waited for"
	case slices.Contains(o.Reasons, plan.DependencyPending):
		return fmt.Sprintf("the namespace %q comes first", o.Namespace)
	default:
		return fmt.Sprintf("waiting: %v", o.Reasons)
	}
}

// reasoned returns the error with a reason.
func reasoned(err error) *fail.Error {
	if e, ok := fail.As(err); ok {
		return e
	}
	return &fail.Error{Reason: v1beta1.ReasonReconciliationFailed, Err: err}
}
