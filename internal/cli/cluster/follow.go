package cluster

import (
	"context"
	"errors"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// pause is how long an API server is left alone that does not answer, or that
// has ended a watch.
const pause = time.Second

// Seen is told of an object as it is, or as it was when it is gone, and
// reports whether nothing more needs to be told.
type Seen func(o *unstructured.Unstructured, gone bool) (done bool)

// Follow tells of the selected objects and then of each change to them, until
// done or the context ends. Of objects that are known already only changes are
// told. An API server that goes away meanwhile is waited for; what happened in
// between is told as its outcome.
func (o Objects) Follow(ctx context.Context, s Selection, known []*unstructured.Unstructured, seen Seen) error {
	f := follower{objects: o, selection: s, seen: seen, known: map[types.UID]*unstructured.Unstructured{}}
	for _, o := range known {
		f.known[o.GetUID()] = o
	}
	for started := len(known) > 0; ; started = true {
		done, err := f.round(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case done:
			return nil
		case err != nil && (!started || !passes(err)):
			return o.explain(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

type follower struct {
	objects   Objects
	selection Selection
	seen      Seen
	known     map[types.UID]*unstructured.Unstructured
}

// round lists the objects and watches them for as long as the API server
// allows.
func (f *follower) round(ctx context.Context) (done bool, err error) {
	list, version, err := f.objects.list(ctx, f.selection)
	if err != nil {
		return false, err
	}
	if f.relist(list) {
		return true, nil
	}
	options := f.selection.options()
	options.ResourceVersion = version
	w, err := f.objects.client.Watch(ctx, options)
	if err != nil {
		return false, err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		switch o, ok := e.Object.(*unstructured.Unstructured); {
		case e.Type == watch.Error:
			if err := apierrors.FromObject(e.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				return false, err
			}
			return false, nil
		case ok && f.tell(o, e.Type == watch.Deleted):
			return true, nil
		}
	}
	return false, nil
}

// relist tells what has changed since the last time.
func (f *follower) relist(list []unstructured.Unstructured) (done bool) {
	is := map[types.UID]bool{}
	for i := range list {
		o := &list[i]
		is[o.GetUID()] = true
		if was := f.known[o.GetUID()]; was != nil && was.GetResourceVersion() == o.GetResourceVersion() {
			continue
		}
		if f.tell(o, false) {
			return true
		}
	}
	for uid, o := range f.known {
		if !is[uid] && f.tell(o, true) {
			return true
		}
	}
	return false
}

func (f *follower) tell(o *unstructured.Unstructured, gone bool) (done bool) {
	if gone {
		delete(f.known, o.GetUID())
	} else {
		f.known[o.GetUID()] = o
	}
	return f.seen(o, gone)
}

// passes reports whether an error may be over soon.
func passes(err error) bool {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true
	}
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}
