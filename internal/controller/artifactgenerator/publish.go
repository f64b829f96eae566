package artifactgenerator

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/ledger"
	"github.com/weir-dev/weir/internal/controller/publish"
	"github.com/weir-dev/weir/internal/controller/report"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/store"
)

// publish has the draft carried out, and puts on record what became of it.
func (r *run) publish(ctx context.Context) error {
	announced := r.draft.Changes(r.ledger.Leaving(r.uid())) || len(r.missing()) > 0
	if announced {
		if err := r.draft.Fits(); err != nil {
			return err
		}
		// What is about to be created is on record first.
		r.generator.Status.Inventory = r.draft.Ahead()
		if err := r.pass.Begin(ctx, "reconciliation in progress"); err != nil {
			return err
		}
	}
	var err error
	if r.outcome, err = r.publisher.Publish(ctx, r.request()); err != nil {
		return err
	}
	repairs := !announced && r.pass.Settled && r.generator.Status.ObservedSourcesDigest == r.digest
	r.tell(report.Of(r.generator, r.outcome.Changes, repairs))
	r.generator.Status.Inventory = r.draft.After(r.outcome.Published, r.outcome.Left)
	r.generator.Status.ObservedSourcesDigest = r.digest
	r.draft.Fail(r.outcome.Failed)
	r.count()
	return nil
}

// count tells how many artifacts there were of which kind.
func (r *run) count() {
	revised := 0
	for _, c := range r.outcome.Changes {
		if c.Revised {
			revised++
		}
	}
	r.Metrics.Built(client.ObjectKeyFromObject(r.generator), revised, len(r.draft.Publish)-revised, len(r.draft.Failures))
}

// request is what the publisher is asked for: the draft, or nothing at all when
// there is none.
func (r *run) request() publish.Request {
	q := publish.Request{
		UID: r.uid(), Owner: external.Owner(client.ObjectKeyFromObject(r.generator)), Prune: r.prunes(), Keep: r.alone,
	}
	for _, e := range r.inventory() {
		q.Known = append(q.Known, draft.KeyOf(e))
	}
	if r.draft != nil {
		q.Artifacts, q.Namespaces = r.draft.Publish, r.draft.Manage
		for _, e := range r.draft.Keep {
			q.Keep = append(q.Keep, draft.KeyOf(e))
		}
	}
	return q
}

func (r *run) tell(notes []report.Note) {
	for _, n := range notes {
		r.Events.Record(n.About, n.Event)
	}
}

// trouble returns all failures as one error. Conflicts alone are no news: the
// pass is made again.
func (r *run) trouble() error {
	if r.blocked != nil {
		e := *r.blocked
		if err := r.draft.Err(); err != nil {
			e.Class, e.Err = fail.Retry, fail.Join(e.Err, err)
		}
		return &e
	}
	failures := r.draft.Failures
	if len(failures) > 0 && !slices.ContainsFunc(failures, func(f build.Failure) bool { return !apierrors.IsConflict(f.Err) }) {
		return failures[0].Err
	}
	return r.draft.Err()
}

// sweep lets the files go whose objects are gone or have others, tells what
// failed, and remembers what a pass that ended well has seen.
func (r *run) sweep(context.Context) error {
	for _, e := range r.draft.Prune {
		if e.IsArtifact() && !r.outcome.Left[draft.KeyOf(e)] {
			store.Release(r.Store, draft.File(e))
		}
	}
	r.Swept()
	if err := r.trouble(); err != nil {
		return err
	}
	r.ledger.Mark(r.uid(), ledger.Mark{
		Generation: r.generator.Generation, Digest: r.digest, Versions: r.outcome.Seen,
	})
	message := fmt.Sprintf("reconciliation succeeded, generated %d artifact(s)", len(r.draft.Publish))
	if r.recipe.Managed != nil {
		message += fmt.Sprintf(" and manages %d namespace(s)", len(r.draft.Manage))
	}
	r.pass.Succeed("%s", message)
	return nil
}
