// Package look reads one object and tells the facts about it. It decides
// nothing and writes nothing.
package look

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/health"
	"github.com/weir-dev/weir/pkg/reconciler/internal/field"
	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/internal/set"
	"github.com/weir-dev/weir/pkg/reconciler/internal/share"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// Style is how a reconciler marks and judges objects. Every field but Shared,
// Signature and Direct is set.
type Style struct {
	Manager   string
	Finalizer string
	Stamp     stamp.Stamp
	Shared    *stamp.Shared
	Signature stamp.Signature  // that of the owner of the pass
	Former    []policy.Manager // as above
	Reclaim   []policy.Manager
	Health    health.Analyzer
	Direct    func(*unstructured.Unstructured) plan.Directive
}

// Look looks at objects for one owner in one pass.
type Look struct {
	*Style

	Client client.Client
	Owner  string
	Places *live.Places
	Now    time.Time
}

// Target is an object of the set as it was found.
type Target struct {
	Want    *set.Want
	Facts   plan.Facts
	Live    *unstructured.Unstructured // nil if it is absent
	Body    *unstructured.Unstructured // what to write, with marks
	Manager string
	Applied bool         // by server-side apply
	Terms   *share.Terms // nil unless the object is shared
}

// Ahead is an object that was read before its turn, or of which it is taken for
// granted that it is absent and that its namespace is there.
type Ahead struct {
	Live    *unstructured.Unstructured
	Guessed bool
}

// At reads all that there is to know about an object of the set. The object
// itself is not read when it is given.
func (l *Look) At(ctx context.Context, w *set.Want, it inventory.Item, ahead *Ahead) (*Target, error) {
	t := &Target{Want: w, Manager: l.ManagerOf(w.Manager)}
	t.Facts = plan.Facts{
		Key: w.Key, Version: w.Version, Digest: w.Digest, Policy: w.Policy, Wave: w.Policy.ApplyOrder,
		Item: it, Now: l.Now, Shared: l.Shared != nil,
	}
	var err error
	if ahead != nil {
		t.Live = ahead.Live
	} else if t.Live, err = live.Get(ctx, l.Client, w.Key, w.Version); err != nil {
		t.Facts.Untyped = errors.Is(err, live.ErrUntyped)
		if t.Facts.Untyped {
			err = nil
		}
		return t, err
	}
	if t.Live == nil && (ahead == nil || !ahead.Guessed) {
		if t.Facts.Place, err = l.Places.Get(ctx, w.Namespace); err != nil {
			return t, err
		}
	}
	l.examine(t)
	if w.Gate != nil {
		open, why, err := w.Gate.Open(ctx, t.Live, l.Now)
		t.Facts.Gate = plan.Gate{Closed: !open, Reason: why, Err: err}
	}
	return t, nil
}

// ManagerOf returns the field manager of an object with a manager of its own,
// or else that of the reconciler.
func (l *Look) ManagerOf(own string) string {
	if own != "" {
		return own
	}
	return l.Manager
}

// Takes returns the managers whose fields become ours with the next write of an
// object that is there.
func (l *Look) Takes(t *Target) []policy.Manager {
	var from []policy.Manager
	if t.Facts.Policy.Update == policy.SsaOverride {
		from = l.from(t.Want)
	}
	s := &t.Facts.Live.Share
	if s.Former {
		from = append(slices.Clip(from), l.Former...)
	}
	if s.Former && !s.Peers { // what was written for the whole family
		from = append(from, policy.Manager{Name: l.Manager})
	}
	return from
}

// from returns the managers whose fields are reclaimed of an object.
func (l *Look) from(w *set.Want) []policy.Manager {
	if w.Reclaim != nil {
		return w.Reclaim
	}
	return l.Reclaim
}

// examine fills in what the live object says.
func (l *Look) examine(t *Target) {
	if t.Live != nil {
		t.Facts.Live = l.Seen(t.Live, t.Manager)
		t.Facts.Item = t.Facts.Identified()
		if u := t.Facts.Live.Directive.Update; u != "" {
			t.Facts.Policy.Update = u
		}
	}
	update := t.Facts.Policy.Update
	t.Applied = update == policy.SsaMerge || update == policy.SsaOverride
	t.Body = l.body(t)
	if t.Live == nil {
		return
	}
	s := t.Facts.Live
	s.Owned = field.Owned(t.Body, t.Live, t.Manager, t.Applied)
	s.Contains = field.Contains(t.Live.Object, t.Body.Object)
	s.Reclaimable = update == policy.SsaOverride && field.Reclaimable(t.Live.GetManagedFields(), t.Manager, l.from(t.Want))
	s.Health, s.Message = l.Health.Analyze(t.Live, t.Want.Policy.Hints)
	if t.Terms != nil {
		s.Share.Marked = len(t.Terms.Right(t.Live, s.Share.Peers)) == 0
		s.Share.Unclaimed = t.Terms.Parent && !share.IsChild(t.Live, l.Signature.Parent)
	}
}

// Seen returns what can be told of a live object without a manifest.
func (l *Look) Seen(u *unstructured.Unstructured, manager string) *plan.Live {
	s := &plan.Live{
		UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Terminating: u.GetDeletionTimestamp() != nil,
	}
	for _, f := range u.GetFinalizers() {
		s.Finalizer = s.Finalizer || f == l.Finalizer
	}
	if l.Shared != nil {
		former := field.Reclaimable(u.GetManagedFields(), manager, l.Former)
		s.Share = plan.Share{
			Ours: former || field.Applies(u, manager), Former: former,
			Created: l.Shared.IsCreated(u), Peers: l.Peers(u, manager),
		}
	} else {
		s.Owner = l.Stamp.Read(u, l.Owner)
	}
	if l.Direct != nil {
		s.Directive = l.Direct(u)
	}
	return s
}

// Peers reports whether other owners of the family are on a shared object than
// the one with that manager.
func (l *Look) Peers(u *unstructured.Unstructured, manager string) bool {
	return share.Peers(l.Shared, u, append([]policy.Manager{{Name: manager}}, l.Former...))
}

// body returns the object to write, with its marks.
func (l *Look) body(t *Target) *unstructured.Unstructured {
	body := t.Want.Body()
	m := l.Stamp.Mark(l.Owner, t.Want.Digest)
	if l.Shared != nil {
		m = l.terms(t)
	}
	object.Label(body, m.Labels, m.Annotations)
	if t.Terms != nil && t.Terms.Parent && !share.IsChild(body, l.Signature.Parent) {
		body.SetOwnerReferences(append(body.GetOwnerReferences(), *l.Signature.Parent))
	}
	if t.Want.DefinesTypes() {
		object.AddFinalizer(body, l.Finalizer)
	}
	return body
}

// terms settles on which terms the object is shared, and returns the labels and
// annotations that come of it.
func (l *Look) terms(t *Target) stamp.Mark {
	created, peers := true, false
	var labels map[string]string
	if t.Live != nil {
		created, peers, labels = t.Facts.Created(), t.Facts.Live.Share.Peers, t.Live.GetLabels()
	}
	t.Terms = &share.Terms{
		Shared: l.Shared, Signature: l.Signature, Marks: t.Want.Marks, Note: l.Signature.Note(t.Want.Key),
		Parent: created && !peers && l.Signature.Claims(t.Want.Policy.Delete),
	}
	m := l.Shared.Mark(created, t.Want.Marks, labels)
	m.Annotations = t.Terms.Note
	return m
}
