package cluster

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// server answers lists one after the other, and watches with the events that
// stand behind the list, after which the watch is closed.
type server struct {
	dynamic.ResourceInterface // what is not used panics

	answers []answer
	at      int
}

type answer struct {
	list   []string // NAME@VERSION
	events []string // ADDED NAME@VERSION, or ERROR REASON
	err    error
}

func (s *server) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	s.at++
	a := s.answers[min(s.at, len(s.answers))-1]
	list := &unstructured.UnstructuredList{}
	for _, text := range a.list {
		list.Items = append(list.Items, *thing(text))
	}
	return list, a.err
}

func (s *server) Watch(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	if s.at >= len(s.answers) {
		w := watch.NewRaceFreeFake() // and nothing happens any more
		context.AfterFunc(ctx, w.Stop)
		return w, nil
	}
	w := watch.NewFakeWithChanSize(10, false)
	for _, text := range s.answers[s.at-1].events {
		kind, what, _ := strings.Cut(text, " ")
		if kind == string(watch.Error) {
			w.Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReason(what), Code: 410})
			continue
		}
		w.Action(watch.EventType(kind), thing(what))
	}
	w.Stop()
	return w, ctx.Err()
}

func thing(text string) *unstructured.Unstructured {
	name, version, _ := strings.Cut(text, "@")
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetName(name)
	o.SetUID(types.UID(name))
	o.SetResourceVersion(version)
	return o
}

func TestFollow(t *testing.T) {
	refused := &url.Error{Op: "Get", URL: "https://api", Err: errors.New("connection refused")}
	forbidden := apierrors.NewForbidden(Namespaces.GroupResource(), "", nil)
	for name, c := range map[string]struct {
		known   []string
		answers []answer
		want    string // what is told, with - for what is gone
		err     string
	}{
		"changes": {
			answers: []answer{{list: []string{"a@1", "b@1"}, events: []string{"MODIFIED a@2", "ADDED c@1", "DELETED b@3", "MODIFIED end@1"}}},
			want:    "a@1 b@1 a@2 c@1 -b@3",
		},
		"known": {
			known:   []string{"a@1", "b@1", "c@1"},
			answers: []answer{{list: []string{"a@1", "b@2"}, events: []string{"MODIFIED end@1"}}},
			want:    "b@2 -c@1",
		},
		"a watch that ends": {
			answers: []answer{{list: []string{"a@1", "b@1"}, events: []string{"MODIFIED a@2"}}, {list: []string{"a@2", "c@1"}}, {list: []string{"a@2", "c@2", "end@1"}}},
			want:    "a@1 b@1 a@2 c@1 -b@1 c@2",
		},
		"a version that has expired": {
			answers: []answer{{list: []string{"a@1"}, events: []string{"ERROR Expired"}}, {list: []string{"a@9", "end@1"}}},
			want:    "a@1 a@9",
		},
		"a server that goes and comes back": {
			answers: []answer{{list: []string{"a@1"}}, {err: refused}, {err: apierrors.NewTooManyRequests("slowly", 1)}, {list: []string{"a@2", "end@1"}}},
			want:    "a@1 a@2",
		},
		"a server that is away when objects are known": {
			known:   []string{"a@1"},
			answers: []answer{{err: refused}, {list: []string{"a@2", "end@1"}}},
			want:    "a@2",
		},
		"a server that is not there": {
			answers: []answer{{err: refused}}, err: "the API server here cannot be reached: connection refused",
		},
		"rights that are taken away": {
			answers: []answer{{list: []string{"a@1"}}, {err: forbidden}}, want: "a@1", err: "forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var known []*unstructured.Unstructured
				for _, text := range c.known {
					known = append(known, thing(text))
				}
				s := &server{answers: append(slices.Clip(c.answers), answer{})}
				objects := Objects{cluster: &Cluster{config: &rest.Config{Host: "here"}}, resource: Namespaces, client: s}
				var told []string
				err := objects.Follow(t.Context(), Selection{}, known, func(o *unstructured.Unstructured, gone bool) bool {
					if o.GetName() == "end" {
						return true
					}
					sign := ""
					if gone {
						sign = "-"
					}
					told = append(told, sign+o.GetName()+"@"+o.GetResourceVersion())
					return false
				})
				if diff := cmp.Diff(c.want, strings.Join(told, " ")); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("error %v, want %q", err, c.err)
				}
			})
		})
	}
}

// TestFollowEnds: it ends with its context, in a watch and between two.
func TestFollowEnds(t *testing.T) {
	for name, answers := range map[string][]answer{
		"in a watch":  {{list: []string{"a@1"}}},
		"between two": {{list: []string{"a@1"}}, {}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				objects := Objects{cluster: &Cluster{}, resource: Namespaces, client: &server{answers: answers}}
				go func() {
					synctest.Wait()
					cancel()
				}()
				err := objects.Follow(ctx, Selection{}, nil, func(*unstructured.Unstructured, bool) bool { return false })
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		})
	}
}
