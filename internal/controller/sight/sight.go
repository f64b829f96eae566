// Package sight sees changes of objects whose kinds become known only while the
// program runs: the sources and the targets of replications. It watches
// metadata, never content, and only kinds that it may list. What it may not see
// is looked at when the resync period ends.
package sight

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// askAgain is how long it is believed that a kind may not be watched.
const askAgain = time.Minute

// Owner is who is interested: a replication.
type Owner struct {
	Global          bool
	Namespace, Name string
}

// Interest is what an owner wants to be told of.
type Interest struct {
	// Sources are what it has asked for.
	Sources []replicate.Query
	// Targets are its objects, at the versions in which it knows them, by kind.
	Targets map[schema.GroupVersionKind]map[object.Key]string
}

// Options are what a [Sight] works with. All must be set.
type Options struct {
	// Sources and Targets are caches of metadata; that of targets holds only what
	// replications manage.
	Sources, Targets cache.Cache
	// Direct asks the API server what may be watched.
	Direct client.Client
	// Changed is told of owners whose sources or targets changed. It must not
	// block.
	Changed func(Owner)
	Now     func() time.Time
}

// Sight tells owners of changes. It must not be copied after its first use;
// concurrent use is safe.
type Sight struct {
	Options

	mu      sync.Mutex
	owners  map[Owner]Interest // guarded by mu, as is all below
	sources map[schema.GroupVersionKind]*watch
	targets map[schema.GroupVersionKind]*watch
}

// watch is a kind that is watched, or may not be.
type watch struct {
	informer cache.Informer // nil if it may not be watched
	asked    time.Time
}

// Set replaces what an owner is interested in. It does not wait for what is not
// watched yet. The error says what cannot be watched; the rest is.
func (s *Sight) Set(ctx context.Context, o Owner, i Interest) error {
	s.mu.Lock()
	if s.owners == nil {
		s.owners = map[Owner]Interest{}
		s.sources, s.targets = map[schema.GroupVersionKind]*watch{}, map[schema.GroupVersionKind]*watch{}
	}
	s.owners[o] = i
	s.mu.Unlock()
	var failed error
	for _, q := range i.Sources {
		if err := s.watch(ctx, s.Sources, s.sources, q.GroupVersionKind); err != nil {
			failed = err
		}
	}
	for gvk := range i.Targets {
		if err := s.watch(ctx, s.Targets, s.targets, gvk); err != nil {
			failed = err
		}
	}
	return failed
}

// Forget ends the interest of an owner.
func (s *Sight) Forget(o Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owners, o)
}

// watch watches a kind in a cache, unless that is done or may not be.
func (s *Sight) watch(ctx context.Context, in cache.Cache, kinds map[schema.GroupVersionKind]*watch, gvk schema.GroupVersionKind) error {
	s.mu.Lock()
	w := kinds[gvk]
	if w != nil && (w.informer != nil || s.Now().Sub(w.asked) < askAgain) {
		s.mu.Unlock()
		return nil
	}
	w = &watch{asked: s.Now()}
	kinds[gvk] = w
	s.mu.Unlock()
	if ok, err := s.allowed(ctx, gvk); !ok || err != nil {
		return err
	}
	about := &metav1.PartialObjectMetadata{}
	about.SetGroupVersionKind(gvk)
	informer, err := in.GetInformer(ctx, about, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %s: %w", gvk.GroupKind(), err)
	}
	if _, err := informer.AddEventHandler(s.handler(gvk)); err != nil {
		return fmt.Errorf("watching %s: %w", gvk.GroupKind(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.informer = informer
	return nil
}

// allowed reports whether all objects of a kind may be listed and watched: an
// informer of one that may not would try for ever.
func (s *Sight) allowed(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	m, err := s.Direct.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, fmt.Errorf("watching %s: %w", gvk.GroupKind(), err)
	}
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: m.Resource.Group, Version: m.Resource.Version, Resource: m.Resource.Resource,
			},
		}}
		if err := s.Direct.Create(ctx, review); err != nil {
			return false, fmt.Errorf("watching %s: %w", gvk.GroupKind(), err)
		}
		if !review.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}

func (s *Sight) handler(gvk schema.GroupVersionKind) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, initial bool) {
			if now, ok := o.(metav1.Object); ok && !initial {
				s.told(change{gvk: gvk, now: now, was: now})
			}
		},
		UpdateFunc: func(old, o any) {
			was, _ := old.(metav1.Object)
			now, ok := o.(metav1.Object)
			if ok && was != nil && was.GetResourceVersion() != now.GetResourceVersion() {
				s.told(change{gvk: gvk, now: now, was: was})
			}
		},
		DeleteFunc: func(o any) {
			if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			if was, ok := o.(metav1.Object); ok {
				s.told(change{gvk: gvk, now: was, was: was, gone: true})
			}
		},
	}
}

// change is a change of one object. Both its states count: a source that is no
// longer selected is news too.
type change struct {
	gvk      schema.GroupVersionKind
	was, now metav1.Object
	gone     bool
}

// told tells those who are interested in an object.
func (s *Sight) told(c change) {
	var who []Owner
	s.mu.Lock()
	for o, i := range s.owners {
		if i.has(c) || i.reads(c) {
			who = append(who, o)
		}
	}
	s.mu.Unlock()
	for _, o := range who {
		s.Changed(o)
	}
}

// has reports whether a target changed, by others than its owner.
func (i *Interest) has(c change) bool {
	key := object.Key{Group: c.gvk.Group, Kind: c.gvk.Kind, Namespace: c.now.GetNamespace(), Name: c.now.GetName()}
	at, ok := i.Targets[c.gvk][key]
	return ok && (c.gone || at != c.now.GetResourceVersion())
}

// reads reports whether a source changed.
func (i *Interest) reads(c change) bool {
	for _, q := range i.Sources {
		if q.GroupVersionKind != c.gvk || q.Namespace != "" && q.Namespace != c.now.GetNamespace() {
			continue
		}
		if q.Name != "" {
			if q.Name == c.now.GetName() {
				return true
			}
			continue
		}
		selector, err := labels.Parse(q.Selector)
		if err != nil || selector.Matches(labels.Set(c.was.GetLabels())) || selector.Matches(labels.Set(c.now.GetLabels())) {
			return true
		}
	}
	return false
}

// Metadata returns a reader of the metadata of targets, which fails for kinds
// that are not wholly known. It waits for nothing.
func (s *Sight) Metadata() client.Reader { return metadata{s} }

type metadata struct{ *Sight }

// Get implements [client.Reader]; it is not supported.
func (metadata) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("reading single objects is not supported")
}

// List implements [client.Reader] for lists of metadata.
func (m metadata) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk := list.GetObjectKind().GroupVersionKind()
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	m.mu.Lock()
	w := m.targets[gvk]
	known := w != nil && w.informer != nil && w.informer.HasSynced()
	m.mu.Unlock()
	if !known {
		return fmt.Errorf("%s is not watched", gvk.GroupKind())
	}
	return m.Targets.List(ctx, list, opts...)
}
