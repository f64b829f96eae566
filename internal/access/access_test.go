package access_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/access"
	"github.com/weir-dev/weir/internal/fail"
)

// R20, R22 to R25: whose rights count where.
func TestAuthority(t *testing.T) {
	const none = ""
	for name, c := range map[string]struct{ own, standard, home, foreign string }{
		"nobody is named":         {home: none, foreign: none},
		"the owner names one":     {own: "sa", home: "sa", foreign: "sa"},
		"there is a default":      {standard: "d", home: none, foreign: "d"},
		"the owner's comes first": {own: "sa", standard: "d", home: "sa", foreign: "sa"},
		"both name the same":      {own: "d", standard: "d", home: "d", foreign: "d"},
	} {
		t.Run(name, func(t *testing.T) {
			a := access.Authority{Home: "g", Own: c.own, Default: c.standard}
			for namespace, want := range map[string]string{"g": c.home, "t": c.foreign} {
				got, ok := a.For(namespace)
				if ok != (want != none) || got.Name != want || ok && got.Namespace != "g" {
					t.Errorf("in %q it is %v, %v; want %q", namespace, got, ok, want)
				}
			}
		})
	}
}

// server answers reviews by the verbs, resources and namespaces it is told.
type server struct {
	denied  func(authorizationv1.ResourceAttributes) bool
	missing bool
	down    error

	mu    sync.Mutex
	asked []string // guarded by mu
	spec  authorizationv1.SubjectAccessReviewSpec
}

func (s *server) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, "account "+key.String())
	if s.missing {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, key.Name)
	}
	return s.down
}

func (s *server) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	r, ok := obj.(*authorizationv1.SubjectAccessReview)
	if !ok {
		return fmt.Errorf("a %T is created", obj)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := *r.Spec.ResourceAttributes
	s.spec = r.Spec
	s.asked = append(s.asked, strings.TrimSpace(fmt.Sprintf("%s %s/%s %s %s", a.Verb, a.Resource, a.Subresource, a.Namespace, a.Name)))
	if s.down != nil {
		return s.down
	}
	r.Status.Allowed = s.denied == nil || !s.denied(a)
	return nil
}

func (s *server) takeAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asked
	s.asked = nil
	slices.Sort(out)
	return out
}

var own = access.Authority{Home: "g", Own: "sa"}

// R20, R21: the subject, and one question for each namespace and verb.
func TestReviews(t *testing.T) {
	s := &server{}
	d := access.NewDesk(s, time.Minute)
	uses := map[string]access.Use{"t": {Publish: true}, "new": {Manage: true}, "old": {Withdraw: true, Delete: true}, "idle": {}}
	if errs := d.Check(t.Context(), own, uses); len(errs) > 0 {
		t.Fatal(errs)
	}
	want := []string{
		"account g/sa",
		"create externalartifacts/ t", "create namespaces/  new",
		"delete externalartifacts/ old", "delete externalartifacts/ t", "delete namespaces/  old",
		"get externalartifacts/ old", "get externalartifacts/ t", "get namespaces/  new", "get namespaces/  old",
		"list externalartifacts/ t", "patch externalartifacts/ t", "patch externalartifacts/status t", "patch namespaces/  new",
		"update externalartifacts/ t",
	}
	if diff := cmp.Diff(want, s.takeAsked()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if s.spec.User != "system:serviceaccount:g:sa" {
		t.Errorf("the subject is %q", s.spec.User)
	}
	if diff := cmp.Diff([]string{"system:serviceaccounts", "system:serviceaccounts:g", "system:authenticated"}, s.spec.Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if errs := d.Check(t.Context(), own, uses); len(errs) > 0 || len(s.takeAsked()) > 0 {
		t.Errorf("the second time it is %v, and asks again", errs)
	}
	uses["t2"] = access.Use{Withdraw: true}
	d.Check(t.Context(), own, uses)
	if diff := cmp.Diff([]string{"delete externalartifacts/ t2", "get externalartifacts/ t2"}, s.takeAsked()); diff != "" {
		t.Errorf("questions about one more namespace (-want +got):\n%s", diff)
	}
}

// R22, R24: nobody is asked where the controller acts on its own account.
func TestNoReviews(t *testing.T) {
	s := &server{missing: true}
	d := access.NewDesk(s, 0)
	errs := d.Check(t.Context(), access.Authority{Home: "g"}, map[string]access.Use{"g": {Publish: true}, "t": {Publish: true}})
	if asked := s.takeAsked(); len(errs)+len(asked) > 0 {
		t.Errorf("asked %v, errors %v", asked, errs)
	}
	errs = d.Check(t.Context(), access.Authority{Home: "g", Default: "d"}, map[string]access.Use{"g": {Publish: true}, "t": {Publish: true}})
	if len(errs) != 1 || errs["t"] == nil {
		t.Errorf("with a default that is missing the errors are %v, want one for t", errs)
	}
}

// R26: a denial says who lacks what, and concerns one namespace.
func TestDenials(t *testing.T) {
	s := &server{denied: func(a authorizationv1.ResourceAttributes) bool {
		return a.Namespace == "t" && a.Verb != "get" || a.Name == "t" && a.Verb == "create"
	}}
	errs := access.NewDesk(s, time.Minute).Check(t.Context(), own, map[string]access.Use{
		"t": {Publish: true, Manage: true, Delete: true}, "ok": {Publish: true},
	})
	const want = `ServiceAccount "system:serviceaccount:g:sa" may not ` +
		`create, delete, list, patch, update externalartifacts.source.toolkit.fluxcd.io in namespace "t", nor ` +
		`patch externalartifacts.source.toolkit.fluxcd.io/status in namespace "t", nor ` +
		`create namespaces "t" in the cluster; grant that to it`
	e, ok := fail.As(errs["t"])
	if !ok || e.Error() != want {
		t.Errorf("the denial is\n%v, want\n%s", errs["t"], want)
	}
	if ok && (e.Reason != "AccessDenied" || e.Class != fail.Stall || e.After != time.Minute) {
		t.Errorf("the denial is %+v", e)
	}
	if errs["ok"] != nil {
		t.Errorf("the other namespace: %v", errs["ok"])
	}
}

// Q19: RBAC goes by names, so an account is looked up before it is trusted.
func TestMissingAccount(t *testing.T) {
	s := &server{missing: true}
	d := access.NewDesk(s, 0)
	errs := d.Check(t.Context(), own, map[string]access.Use{"a": {Publish: true}, "b": {Withdraw: true}})
	for _, namespace := range []string{"a", "b"} {
		if e, ok := fail.As(errs[namespace]); !ok || e.Reason != "AccessDenied" || !errors.Is(e, access.ErrMissing) {
			t.Errorf("in %q: %v", namespace, errs[namespace])
		}
	}
	if diff := cmp.Diff([]string{"account g/sa"}, s.takeAsked()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
}

// No answer is no denial, and is asked for again.
func TestNoAnswer(t *testing.T) {
	s := &server{}
	d := access.NewDesk(s, 0)
	uses := map[string]access.Use{"t": {Withdraw: true}}
	d.Check(t.Context(), own, map[string]access.Use{"g": {Withdraw: true}}) // the account is known from here on
	s.down = errors.New("no route to host")
	err := d.Check(t.Context(), own, uses)["t"]
	if _, denied := fail.As(err); denied || !errors.Is(err, s.down) {
		t.Errorf("the error is %v", err)
	}
	s.down = nil
	if errs := d.Check(t.Context(), own, uses); len(errs) > 0 {
		t.Errorf("once it answers: %v", errs)
	}
}
