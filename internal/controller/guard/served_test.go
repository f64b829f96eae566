package guard_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/controller/guard"
)

// old is the client of an API server without admission policies.
type old struct {
	client.Client
	served func() bool
}

func (o old) RESTMapper() meta.RESTMapper { return mapper{old: o} }

type mapper struct {
	meta.RESTMapper
	old
}

func (m mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if gk.Group == v1.GroupName && !m.served() {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	return m.Client.RESTMapper().RESTMapping(gk, versions...)
}

// An API server without the feature is asked again, for it may be upgraded.
func TestNotServed(t *testing.T) {
	w := newWorld(t)
	w.grant()
	upgraded := make(chan struct{})
	w.options.Client = old{w.client(w.config), func() bool {
		select {
		case <-upgraded:
			return true
		default:
			return false
		}
	}}
	w.options.Again = 10 * time.Millisecond
	k, _ := w.start()
	s := w.want(guard.NotServed)
	if s.InForce || k.State() != s || !strings.Contains(s.Message, "1.30") {
		t.Errorf("the state is %+v", s)
	}
	close(upgraded)
	w.want(guard.InForce)
}

// Before it has looked, a keeper does not claim anything; and it ends when it
// is told to, whatever it waits for.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := old{served: func() bool { return false }}
		k := guard.New(guard.Options{Client: never, Log: logr.Discard()})
		if s := k.State(); s.InForce || s.Reason != guard.Unknown {
			t.Errorf("the state is %+v", s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- k.Start(ctx) }()
		synctest.Wait()
		if s := k.State(); s.Reason != guard.NotServed {
			t.Errorf("the state is %+v", s)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
