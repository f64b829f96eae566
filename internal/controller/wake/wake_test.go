package wake_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1 "k8s.io/api/core/v1"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/budget"
	"github.com/weir-dev/weir/internal/controller/wake"
)

type gtr = v1beta2.GlobalTenantResource

// edited returns a replication of generation 1, changed.
func edited(edit func(*gtr)) *gtr {
	g := &gtr{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "1", Generation: 1, Annotations: map[string]string{}}}
	edit(g)
	return g
}

func same(*gtr) {}

func request(value string) func(*gtr) {
	return func(g *gtr) { g.Annotations[v1beta2.AnnotationRequestedAt] = value }
}

func ready(status metav1.ConditionStatus, generation int64) func(*gtr) {
	return func(g *gtr) {
		g.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionReady, Status: status, ObservedGeneration: generation}}
	}
}

func TestPredicates(t *testing.T) {
	for name, c := range map[string]struct {
		old, now         func(*gtr)
		asked, readiness bool
	}{
		"nothing":                         {old: same, now: same},
		"R125 the spec":                   {old: same, now: func(g *gtr) { g.Generation = 2 }, asked: true},
		"R125 a request":                  {old: same, now: request("1"), asked: true},
		"R125 another request":            {old: request("1"), now: request("2"), asked: true},
		"R125 a request that is done":     {old: request("1"), now: same},
		"a budget":                        {old: same, now: func(g *gtr) { g.Annotations[budget.Annotation] = "1" }, asked: true},
		"an approval":                     {old: same, now: func(g *gtr) { g.Annotations[budget.Approval] = "1" }, asked: true},
		"another annotation":              {old: same, now: func(g *gtr) { g.Annotations["a"] = "1" }},
		"a deletion":                      {old: same, now: func(g *gtr) { g.DeletionTimestamp = new(metav1.Unix(1, 0)) }, asked: true},
		"R127 ready":                      {old: ready("False", 1), now: ready("True", 1), readiness: true},
		"R127 no longer ready":            {old: ready("True", 1), now: ready("False", 1), readiness: true},
		"ready for what it was":           {old: same, now: ready("True", 0)},
		"replaced by one of another kind": {old: same, now: func(g *gtr) { g.UID = "2" }, asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := event.UpdateEvent{ObjectOld: edited(c.old), ObjectNew: edited(c.now)}
			if asked, readiness := wake.Asked().Update(e), wake.Readiness().Update(e); asked != c.asked || readiness != c.readiness {
				t.Errorf("asked %t, readiness %t", asked, readiness)
			}
		})
	}
}

// A namespace wakes the replications of the tenants that it was and is in, and
// those inside, even if it is in none now.
func TestMoved(t *testing.T) {
	namespace := func(tenant, phase string) *corev1.Namespace {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{}}}
		if tenant != "" {
			n.Labels[v1beta2.LabelTenant] = tenant
		}
		n.Status.Phase = corev1.NamespacePhase(phase)
		return n
	}
	for name, c := range map[string]struct {
		old, now *corev1.Namespace
		want     []string
	}{
		"R28 made":             {now: namespace("a", ""), want: []string{"a", "in n"}},
		"R32 leaves":           {old: namespace("a", ""), now: namespace("", ""), want: []string{"a", "in n"}},
		"moves":                {old: namespace("a", ""), now: namespace("b", ""), want: []string{"a", "b", "in n"}},
		"nothing that is seen": {old: namespace("a", "Active"), now: namespace("a", "Other")},
		"of no tenant":         {now: namespace("", ""), want: []string{"in n"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer q.ShutDown()
			h := wake.Moved(func(_ context.Context, tenant string) []reconcile.Request {
				return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: tenant}}}
			}, func(_ context.Context, namespace string) []reconcile.Request {
				return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "in " + namespace}}}
			})
			if c.old == nil {
				h.Create(t.Context(), event.CreateEvent{Object: c.now}, q)
			} else {
				h.Update(t.Context(), event.UpdateEvent{ObjectOld: c.old, ObjectNew: c.now}, q)
			}
			var got []string
			for q.Len() > 0 {
				r, _ := q.Get()
				got = append(got, r.Name)
				q.Done(r)
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Of a tenant everything but its status is seen.
func TestShown(t *testing.T) {
	old := &v1beta2.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "t", Generation: 1}}
	for name, c := range map[string]struct {
		edit func(*v1beta2.Tenant)
		want bool
	}{
		"R29 a label": {func(t *v1beta2.Tenant) { t.Labels = map[string]string{"a": "b"} }, true},
		"the spec":    {func(t *v1beta2.Tenant) { t.Generation = 2 }, true},
		"the status":  {func(t *v1beta2.Tenant) { t.Status.Size = 3 }, false},
	} {
		now := old.DeepCopy()
		c.edit(now)
		if got := wake.Shown().Update(event.UpdateEvent{ObjectOld: old, ObjectNew: now}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
