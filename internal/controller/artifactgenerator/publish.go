package artifactgenerator

import (
	"context"
	"fmt"
	"runtime"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// tellers is how many statuses are written at a time.
const tellers = 8

// publish stores the artifacts and makes their ExternalArtifacts say so. What
// fails is left as it was and does not stop the rest.
func (r *run) publish(ctx context.Context) error {
	before := r.generator.Status.Inventory
	if r.announced = r.plan.news(before) || len(r.missing()) > 0; r.announced {
		// What is about to be created is on record first.
		r.generator.Status.Inventory = r.plan.ahead(before)
		if err := r.pass.Begin(ctx, "reconciliation in progress"); err != nil {
			return err
		}
	}
	stored := r.put(ctx, before)
	live, err := r.published(ctx)
	if err != nil {
		return err
	}
	result, err := r.objects.Apply(ctx, r.request(live, stored))
	if result == nil {
		return &fail.Error{Reason: v1beta1.ReasonReconciliationFailed, Err: err}
	}
	said := r.tell(ctx, stored, live, result)
	if ctx.Err() != nil {
		return fmt.Errorf("publishing: %w", context.Cause(ctx))
	}
	r.report(said, result)
	r.generator.Status.Inventory = r.after(before, said, result)
	r.generator.Status.ObservedSourcesDigest = r.digest
	r.seen = make(map[object.Key]string, len(said))
	for k, t := range said {
		r.seen[k] = t.version
	}
	return r.trouble(len(said))
}

// put stores what is to be published and returns it by key. What cannot be
// stored stays as it was before.
func (r *run) put(ctx context.Context, before []v1beta1.InventoryEntry) map[object.Key]store.Artifact {
	made := make([]store.Artifact, len(r.plan.publish))
	errs := make([]error, len(r.plan.publish))
	var group errgroup.Group
	group.SetLimit(4 * runtime.GOMAXPROCS(0))
	for i, a := range r.plan.publish {
		group.Go(func() error {
			made[i], errs[i] = r.Store.Put(ctx, nameOf(a), a.Tree, a.Content)
			return nil
		})
	}
	_ = group.Wait()
	has := make(map[object.Key]v1beta1.InventoryEntry, len(before))
	for _, e := range before {
		has[keyOf(e)] = e
	}
	out := make(map[object.Key]store.Artifact, len(made))
	var rest []build.Artifact
	for i, a := range r.plan.publish {
		k := external.KeyOf(a.Namespace, a.Name)
		if errs[i] == nil {
			out[k] = made[i]
			rest = append(rest, a)
			continue
		}
		r.fails(a.Namespace, a.Name, reasoned(errs[i]))
		if e, ok := has[k]; ok {
			r.plan.keep = append(r.plan.keep, e)
		}
	}
	r.plan.publish = rest
	return out
}

// request is what the object reconciler is asked for.
func (r *run) request(live map[object.Key]*sourcev1.ExternalArtifact, stored map[object.Key]store.Artifact) reconciler.Request {
	owner := external.Owner{Namespace: r.generator.Namespace, Name: r.generator.Name}
	q := reconciler.Request{Owner: reconciler.Owner{ID: string(r.uid())}, Store: r.open(live)}
	for _, a := range r.plan.publish {
		k := external.KeyOf(a.Namespace, a.Name)
		if _, ok := stored[k]; ok {
			q.Objects = append(q.Objects, reconciler.Object{Manifest: external.Manifest(owner, k, a.Metadata)})
		}
	}
	return q
}

// told is what became of one object: its version, and whether its status was
// written.
type told struct {
	version string
	changed bool
}

// tell writes the statuses of the objects that do not say yet what is stored.
func (r *run) tell(ctx context.Context, stored map[object.Key]store.Artifact, live map[object.Key]*sourcev1.ExternalArtifact,
	result *reconciler.Result,
) map[object.Key]told {
	outcomes := make(map[object.Key]plan.Outcome, len(result.Outcomes))
	for _, o := range result.Outcomes {
		outcomes[o.Key] = o
	}
	now := metav1.Now()
	done := make([]told, len(r.plan.publish))
	errs := make([]*fail.Error, len(r.plan.publish))
	var group errgroup.Group
	group.SetLimit(tellers)
	for i, a := range r.plan.publish {
		k := external.KeyOf(a.Namespace, a.Name)
		o := outcomes[k]
		if errs[i] = failure(o); errs[i] != nil {
			continue
		}
		group.Go(func() error {
			var err error
			if done[i], err = r.tellOne(ctx, r.wanted(a, stored[k]), o, live[k], now); err != nil {
				errs[i] = &fail.Error{Reason: v1beta1.ReasonReconciliationFailed, Err: err}
			}
			return nil
		})
	}
	_ = group.Wait()
	out := make(map[object.Key]told, len(done))
	for i, a := range r.plan.publish {
		if errs[i] != nil {
			r.fails(a.Namespace, a.Name, errs[i])
			continue
		}
		out[external.KeyOf(a.Namespace, a.Name)] = done[i]
	}
	return out
}

// tellOne writes the status of one object, at the version that it has after
// the outcome, if there is anything to write.
func (r *run) tellOne(ctx context.Context, want external.Artifact, o plan.Outcome, seen *sourcev1.ExternalArtifact, now metav1.Time) (told, error) {
	var is *sourcev1.ExternalArtifact
	if !o.Verb.Writes() && seen != nil && seen.ResourceVersion == o.Pre.ResourceVersion {
		is = seen.DeepCopy()
	} else {
		is = &sourcev1.ExternalArtifact{}
		if err := r.Direct.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, is); err != nil {
			return told{}, fmt.Errorf("reading %s: %w", o.Key, err)
		}
	}
	if !want.Tell(is, now) {
		return told{version: is.ResourceVersion}, nil
	}
	// Whole, for a merge patch cannot say null, which an input may be.
	if err := r.Client.Status().Update(ctx, is, client.FieldOwner(fieldOwner)); err != nil {
		return told{}, fmt.Errorf("writing the status of %s: %w", o.Key, err)
	}
	return told{version: is.ResourceVersion, changed: true}, nil
}

func (r *run) wanted(a build.Artifact, s store.Artifact) external.Artifact {
	return external.Artifact{
		Digest: "sha256:" + s.Digest.String(), Path: s.Path, URL: r.URL(s.Path), Revision: a.Revision,
		Size: s.Size, OriginRevision: a.OriginRevision, Inputs: a.Inputs,
	}
}

func nameOf(a build.Artifact) types.NamespacedName {
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}
