package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/step"
)

type (
	generator  = v1beta1.ArtifactGenerator
	conditions = []metav1.Condition
)

// cluster is an API server with one generator, and a loop over it. The server
// is a fake, which is enough for what is counted here: it keeps versions and
// the status apart as a real one does. Generations are up to the tests.
type cluster struct {
	client.Client
	loop loop.Loop[*generator]

	steps    func(*generator, *loop.Pass) error
	finalize func(*generator, *loop.Pass) error
	before   func()     // the next write of a status
	stale    *generator // what is read, if set
	status   int        // writes
	meta     int
	events   []string
	last     loop.Event
}

func (c *cluster) Record(about client.Object, e loop.Event) {
	kind := "Normal"
	if e.Warning {
		kind = "Warning"
	}
	c.last = e
	c.events = append(c.events, fmt.Sprintf("%s %s %s: %s", about.GetName(), kind, e.Reason, e.Message))
}

const generation = 2

// newGenerator returns a generator that the loop has seen before.
func newGenerator(edit ...func(*generator)) *generator {
	g := &generator{}
	g.Namespace, g.Name, g.UID, g.Generation = "apps", "podinfo", "uid-1", generation
	g.Finalizers = []string{v1beta1.Finalizer}
	for _, e := range edit {
		e(g)
	}
	return g
}

func newCluster(t *testing.T, g *generator) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &cluster{}
	c.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(g).WithStatusSubresource(&generator{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if g, ok := obj.(*generator); ok && c.stale != nil {
					c.stale.DeepCopyInto(g)
					return nil
				}
				return w.Get(ctx, key, obj, opts...)
			},
			Patch: func(ctx context.Context, w client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				c.meta++
				return w.Patch(ctx, obj, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, w client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				if before := c.before; before != nil {
					c.before = nil
					before()
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				c.status++
				return w.SubResource(sub).Patch(ctx, obj, p, opts...)
			},
		}).Build()
	list := func(name string, do *func(*generator, *loop.Pass) error) func(*generator, *loop.Pass) []step.Step {
		return func(g *generator, p *loop.Pass) []step.Step {
			return []step.Step{step.Of(name, func(context.Context) error {
				if *do == nil {
					return nil
				}
				return (*do)(g, p)
			})}
		}
	}
	c.loop = loop.Loop[*generator]{
		Client: c.Client,
		Events: c,
		Kind: loop.Kind[*generator]{
			New:       func() *generator { return &generator{} },
			Finalizer: v1beta1.Finalizer,
			Handled:   func(g *generator) *string { return &g.Status.LastHandledReconcileAt },
			Interval:  (*generator).Interval,
			Suspended: (*generator).IsDisabled,
			Steps:     list("build", &c.steps),
			Finalize:  list("remove", &c.finalize),
			Actions:   map[string]string{"build": "Build"},
		},
	}
	return c
}

func (c *cluster) reconcile(t *testing.T) (reconcile.Result, error) {
	t.Helper()
	return c.loop.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "apps", Name: "podinfo"}})
}

func (c *cluster) get(t *testing.T) *generator {
	t.Helper()
	g := &generator{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "podinfo"}, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// edit changes the object as another client would.
func (c *cluster) edit(t *testing.T, do func(*generator)) {
	t.Helper()
	g := c.get(t)
	do(g)
	if err := c.Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
}

func condition(kind string, status metav1.ConditionStatus, reason, message string, generation int64) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(time.Unix(1e9, 0)),
	}
}

// texts prints conditions as Type=Status Reason@generation: message.
func texts(cs conditions) (out []string) {
	for _, c := range cs {
		out = append(out, fmt.Sprintf("%s=%s %s@%d: %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message))
	}
	return out
}

// kstatus computes what kubectl, Flux and Helm make of conditions, by the rules
// of kstatus for kinds that it does not know.
func kstatus(cs conditions) string {
	for _, c := range cs {
		switch {
		case c.Type == "Reconciling" && c.Status == metav1.ConditionTrue:
			return "InProgress"
		case c.Type == "Stalled" && c.Status == metav1.ConditionTrue:
			return "Failed"
		}
	}
	for _, c := range cs {
		if c.Type == "Ready" && c.Status != metav1.ConditionTrue {
			return "InProgress"
		}
	}
	return "Current"
}

// The states that a pass may find.
var (
	fresh   conditions
	isReady = conditions{condition("Ready", metav1.ConditionTrue, "Succeeded", "3 artifacts", generation)}
	older   = conditions{condition("Ready", metav1.ConditionTrue, "Succeeded", "3 artifacts", generation-1)}
	retried = conditions{
		condition("Ready", metav1.ConditionFalse, "BuildFailed", "no file", generation),
		condition("Reconciling", metav1.ConditionTrue, "ProgressingWithRetry", "no file", generation),
	}
	waiting = conditions{condition("Ready", metav1.ConditionFalse, "SourceFetchFailed", "no source", generation)}
	stalled = conditions{
		condition("Ready", metav1.ConditionFalse, "ValidationFailed", "bad glob", generation),
		condition("Stalled", metav1.ConditionTrue, "ValidationFailed", "bad glob", generation),
	}
	interrupted = conditions{
		condition("Ready", metav1.ConditionUnknown, "Progressing", "building", generation),
		condition("Reconciling", metav1.ConditionTrue, "Progressing", "building", generation),
	}
	foreign = conditions{
		condition("Healthy", metav1.ConditionTrue, "Checked", "", 1),
		condition("Stalled", metav1.ConditionTrue, "ValidationFailed", "bad glob", generation-1),
		condition("Ready", metav1.ConditionFalse, "ValidationFailed", "bad glob", generation-1),
	}
)

var (
	errBuild  = fail.Retried("BuildFailed", "no file")
	errSource = &fail.Error{Reason: "SourceFetchFailed", Class: fail.Wait, After: 5 * time.Second, Err: errors.New("no source")}
	errLater  = &fail.Error{Class: fail.Later, After: 7 * time.Second, Err: errors.New("others first")}
	errSpec   = fail.Stalled("ValidationFailed", "bad glob")
	errDenied = &fail.Error{Reason: "AccessDenied", Class: fail.Stall, After: time.Minute, Err: errors.New("no right")}
	resources = schema.GroupResource{Resource: "externalartifacts"}
	errBusy   = apierrors.NewConflict(resources, "a", errors.New("modified"))
	errOwned  = apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}}, "owned by helm")
)

// Class of the error x state of the object -> conditions, writes, queue,
// events, and what kstatus says.
func TestEndings(t *testing.T) {
	const hour = time.Hour
	for name, c := range map[string]struct {
		was     conditions
		begin   bool
		message string
		err     error
		want    []string
		writes  int
		after   time.Duration
		backOff bool
		events  []string
		kstatus string
	}{
		"success, first time": {
			was: fresh, begin: true, message: "3 artifacts", writes: 2, after: hour, kstatus: "Current",
			want:   []string{"Ready=True Succeeded@2: 3 artifacts"},
			events: []string{"podinfo Normal Succeeded: 3 artifacts"},
		},
		"success, nothing to do": {
			was: isReady, message: "3 artifacts", after: hour, kstatus: "Current",
			want: []string{"Ready=True Succeeded@2: 3 artifacts"},
		},
		"success, nothing to say": {
			was: isReady, err: step.Done, after: hour, kstatus: "Current",
			want: []string{"Ready=True Succeeded@2: 3 artifacts"},
		},
		"success, done again": {
			was: isReady, begin: true, message: "3 artifacts", writes: 2, after: hour, kstatus: "Current",
			want:   []string{"Ready=True Succeeded@2: 3 artifacts"},
			events: []string{"podinfo Normal Succeeded: 3 artifacts"},
		},
		"success, a new generation without work": {
			was: older, writes: 1, after: hour, kstatus: "Current",
			want:   []string{"Ready=True Succeeded@2: reconciliation succeeded"},
			events: []string{"podinfo Normal Succeeded: reconciliation succeeded"},
		},
		"success after failures": {
			was: retried, begin: true, message: "3 artifacts", writes: 1, after: hour, kstatus: "Current",
			want:   []string{"Ready=True Succeeded@2: 3 artifacts"},
			events: []string{"podinfo Normal Succeeded: 3 artifacts"},
		},
		"success after a stall": {
			was: stalled, begin: true, message: "3 artifacts", writes: 2, after: hour, kstatus: "Current",
			want:   []string{"Ready=True Succeeded@2: 3 artifacts"},
			events: []string{"podinfo Normal Succeeded: 3 artifacts"},
		},
		"success after an interruption": {
			was: interrupted, begin: true, message: "3 artifacts", writes: 1, after: hour, kstatus: "Current",
			want:   []string{"Ready=True Succeeded@2: 3 artifacts"},
			events: []string{"podinfo Normal Succeeded: 3 artifacts"},
		},
		"others' conditions stay": {
			was: foreign, message: "3 artifacts", writes: 1, after: hour, kstatus: "Current",
			want:   []string{"Ready=True Succeeded@2: 3 artifacts", "Healthy=True Checked@1: "},
			events: []string{"podinfo Normal Succeeded: 3 artifacts"},
		},
		"retry": {
			was: isReady, begin: true, err: errBuild, writes: 2, backOff: true, kstatus: "InProgress",
			want:   []string{"Ready=False BuildFailed@2: no file", "Reconciling=True ProgressingWithRetry@2: no file"},
			events: []string{"podinfo Warning BuildFailed: no file"},
		},
		"retry, the same again": {
			was: retried, begin: true, err: errBuild, backOff: true, kstatus: "InProgress",
			want: []string{"Ready=False BuildFailed@2: no file", "Reconciling=True ProgressingWithRetry@2: no file"},
		},
		"retry after a stall": {
			was: stalled, err: errBuild, writes: 1, backOff: true, kstatus: "InProgress",
			want:   []string{"Ready=False BuildFailed@2: no file", "Reconciling=True ProgressingWithRetry@2: no file"},
			events: []string{"podinfo Warning BuildFailed: no file"},
		},
		"any other error": {
			was: isReady, err: errors.New("oops"), writes: 1, backOff: true, kstatus: "InProgress",
			want:   []string{"Ready=False ReconciliationFailed@2: oops", "Reconciling=True ProgressingWithRetry@2: oops"},
			events: []string{"podinfo Warning ReconciliationFailed: oops"},
		},
		"wait": {
			was: isReady, err: errSource, writes: 1, after: 5 * time.Second, kstatus: "InProgress",
			want:   []string{"Ready=False SourceFetchFailed@2: no source"},
			events: []string{"podinfo Warning SourceFetchFailed: no source"},
		},
		"wait, the same again": {
			was: waiting, begin: true, err: errSource, after: 5 * time.Second, kstatus: "InProgress",
			want: []string{"Ready=False SourceFetchFailed@2: no source"},
		},
		"wait for the interval, after a retry": {
			was: retried, err: &fail.Error{Reason: "BuildFailed", Class: fail.Wait, Err: errors.New("no file")}, writes: 1, after: hour, kstatus: "InProgress",
			want: []string{"Ready=False BuildFailed@2: no file"},
		},
		"stall": {
			was: older, err: errSpec, writes: 1, kstatus: "Failed",
			want:   []string{"Ready=False ValidationFailed@2: bad glob", "Stalled=True ValidationFailed@2: bad glob"},
			events: []string{"podinfo Warning ValidationFailed: bad glob"},
		},
		"stall after a retry": {
			was: retried, begin: true, err: errSpec, writes: 1, kstatus: "Failed",
			want:   []string{"Ready=False ValidationFailed@2: bad glob", "Stalled=True ValidationFailed@2: bad glob"},
			events: []string{"podinfo Warning ValidationFailed: bad glob"},
		},
		"stall on what gives no sign": {
			was: isReady, err: errDenied, writes: 1, after: time.Minute, kstatus: "Failed",
			want:   []string{"Ready=False AccessDenied@2: no right", "Stalled=True AccessDenied@2: no right"},
			events: []string{"podinfo Warning AccessDenied: no right"},
		},
		"stall, the same again": {
			was: stalled, err: errSpec, kstatus: "Failed",
			want: []string{"Ready=False ValidationFailed@2: bad glob", "Stalled=True ValidationFailed@2: bad glob"},
		},
		"later": {
			was: older, err: errLater, after: 7 * time.Second, kstatus: "Current",
			want: []string{"Ready=True Succeeded@1: 3 artifacts"},
		},
		"later, said before": {
			was: older, begin: true, err: errLater, writes: 1, after: 7 * time.Second, kstatus: "InProgress",
			want: []string{"Ready=Unknown Progressing@2: building", "Reconciling=True Progressing@2: building"},
		},
		"conflict": {
			was: isReady, err: errBusy, after: 500 * time.Millisecond, kstatus: "Current",
			want: []string{"Ready=True Succeeded@2: 3 artifacts"},
		},
		"conflict at work, with a reason": {
			was: older, begin: true, err: fail.Retried("ReconciliationFailed", "applying: %w", errBusy), writes: 1, after: 500 * time.Millisecond, kstatus: "InProgress",
			want: []string{"Ready=Unknown Progressing@2: building", "Reconciling=True Progressing@2: building"},
		},
		"conflict of field managers": {
			was: isReady, err: errOwned, writes: 1, backOff: true, kstatus: "InProgress",
			want: []string{
				`Ready=False ReconciliationFailed@2: Apply failed with 1 conflict: conflict with "": `,
				`Reconciling=True ProgressingWithRetry@2: Apply failed with 1 conflict: conflict with "": `,
			},
			events: []string{`podinfo Warning ReconciliationFailed: Apply failed with 1 conflict: conflict with "": `},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if errors.Is(c.err, errOwned) { // Its text is the server's.
				for i := range c.want {
					at := strings.Index(c.want[i], "Apply failed")
					c.want[i] = c.want[i][:at] + errOwned.Error()
				}
				c.events[0] = "podinfo Warning ReconciliationFailed: " + errOwned.Error()
			}
			cl := newCluster(t, newGenerator(func(g *generator) { g.Status.Conditions = c.was }))
			cl.steps = func(_ *generator, p *loop.Pass) error {
				if c.begin {
					if err := p.Begin(t.Context(), "building"); err != nil {
						return err
					}
				}
				if c.message != "" {
					p.Succeed("%s", c.message)
				}
				return c.err
			}
			got, err := cl.reconcile(t)
			if (err != nil) != c.backOff || got.RequeueAfter != c.after {
				t.Errorf("got %v, %v", got, err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "build: ") {
				t.Errorf("the log does not name the step: %v", err)
			}
			is := cl.get(t).Status.Conditions
			if diff := cmp.Diff(c.want, texts(is)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if k := kstatus(is); k != c.kstatus {
				t.Errorf("kstatus says %s, want %s", k, c.kstatus)
			}
			if cl.status != c.writes || cl.meta != 0 {
				t.Errorf("%d writes of the status, want %d; %d others", cl.status, c.writes, cl.meta)
			}
			if diff := cmp.Diff(c.events, cl.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// While there is work, the object says so.
func TestBegin(t *testing.T) {
	for name, c := range map[string]struct {
		was  conditions
		want []string
	}{
		"new":         {fresh, texts(interrupted)},
		"ready":       {isReady, texts(interrupted)},
		"stalled":     {stalled, texts(interrupted)},
		"interrupted": {interrupted, texts(interrupted)},
		"retried":     {retried, texts(retried)},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, newGenerator(func(g *generator) { g.Status.Conditions = c.was }))
			cl.steps = func(g *generator, p *loop.Pass) error {
				g.Status.Inventory = []v1beta1.InventoryEntry{{Name: "planned", Digest: "sha256:0"}}
				for range 2 {
					if err := p.Begin(t.Context(), "building"); err != nil {
						t.Fatal(err)
					}
				}
				is := cl.get(t)
				if diff := cmp.Diff(c.want, texts(is.Status.Conditions)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if len(is.Status.Inventory) != 1 {
					t.Error("the inventory of what is planned was not written")
				}
				if cl.status != 1 {
					t.Errorf("%d writes", cl.status)
				}
				return nil
			}
			if _, err := cl.reconcile(t); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Conditions and what the steps recorded come in one write, and no reader sees
// the one without the other.
func TestOneWriteForAll(t *testing.T) {
	cl := newCluster(t, newGenerator(func(g *generator) {
		g.Annotations = map[string]string{v1beta1.AnnotationRequestedAt: "now"}
	}))
	cl.steps = func(g *generator, p *loop.Pass) error {
		if !p.Requested || p.Settled {
			t.Errorf("%+v", p)
		}
		g.Status.Inventory = []v1beta1.InventoryEntry{{Name: "a", Digest: "sha256:0"}}
		g.Status.ObservedSourcesDigest = "sha256:1"
		return nil
	}
	if _, err := cl.reconcile(t); err != nil {
		t.Fatal(err)
	}
	s := cl.get(t).Status
	if cl.status != 1 || len(s.Inventory) != 1 || s.LastHandledReconcileAt != "now" || s.ObservedSourcesDigest != "sha256:1" || len(s.Conditions) != 1 {
		t.Errorf("after %d writes: %+v", cl.status, s)
	}
	cl.steps = func(g *generator, p *loop.Pass) error {
		if p.Requested || !p.Settled {
			t.Errorf("%+v", p)
		}
		g.Status.Inventory = nil
		return nil
	}
	if _, err := cl.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if s := cl.get(t).Status; cl.status != 2 || s.Inventory != nil {
		t.Errorf("after %d writes: %+v", cl.status, s)
	}
}

// Only a success at this generation is a reason to do nothing (O1).
func TestSettled(t *testing.T) {
	disabled := conditions{condition("Ready", metav1.ConditionTrue, "ReconciliationDisabled", "", generation)}
	for name, c := range map[string]struct {
		is   conditions
		want bool
	}{
		"new": {fresh, false}, "ready": {isReady, true}, "older": {older, false}, "retried": {retried, false},
		"waiting": {waiting, false}, "stalled": {stalled, false}, "interrupted": {interrupted, false}, "disabled": {disabled, false},
		"ready and reconciling": {conditions{isReady[0], retried[1]}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, newGenerator(func(g *generator) { g.Status.Conditions = c.is }))
			cl.steps = func(_ *generator, p *loop.Pass) error {
				if p.Settled != c.want {
					t.Errorf("settled is %v", p.Settled)
				}
				return nil
			}
			if _, err := cl.reconcile(t); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestRequestsAreAcknowledged(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		suspend bool
		want    string
	}{
		"success":   {want: "now"},
		"failure":   {err: errBuild, want: "now"},
		"stall":     {err: errSpec, want: "now"},
		"suspended": {suspend: true, want: "now"},
		"conflict":  {err: errBusy, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, newGenerator(func(g *generator) {
				g.Annotations = map[string]string{v1beta1.AnnotationRequestedAt: "now"}
				if c.suspend {
					g.Annotations[v1beta1.AnnotationReconcile] = "disabled"
				}
			}))
			cl.steps = func(*generator, *loop.Pass) error { return c.err }
			_, _ = cl.reconcile(t)
			if got := cl.get(t).Status.LastHandledReconcileAt; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A request after a failure is answered visibly, even by the same failure.
func TestRequestAfterFailure(t *testing.T) {
	cl := newCluster(t, newGenerator(func(g *generator) {
		g.Status.Conditions = retried
		g.Annotations = map[string]string{v1beta1.AnnotationRequestedAt: "now"}
	}))
	cl.steps = func(_ *generator, p *loop.Pass) error {
		if err := p.Begin(t.Context(), "building"); err != nil {
			return err
		}
		if diff := cmp.Diff(texts(interrupted), texts(cl.get(t).Status.Conditions)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return errBuild
	}
	_, _ = cl.reconcile(t)
	if diff := cmp.Diff(texts(retried), texts(cl.get(t).Status.Conditions)); diff != "" || cl.status != 2 {
		t.Errorf("%d writes (-want +got):\n%s", cl.status, diff)
	}
}

func TestSuspended(t *testing.T) {
	for _, value := range []string{"Disabled", "disabled", "DISABLED"} {
		cl := newCluster(t, newGenerator(func(g *generator) {
			g.Finalizers = nil
			g.Annotations = map[string]string{v1beta1.AnnotationReconcile: value}
			g.Status.Conditions = retried
		}))
		cl.steps = func(*generator, *loop.Pass) error { t.Error("the steps ran"); return nil }
		got, err := cl.reconcile(t)
		if err != nil || !got.IsZero() || cl.status+cl.meta != 0 {
			t.Errorf("%s: got %v, %v, %d writes", value, got, err, cl.status+cl.meta)
		}
		if diff := cmp.Diff(texts(retried), texts(cl.get(t).Status.Conditions)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// An object that was never worked on says why it is not, once, and never that it
// is ready.
func TestSuspendedFromTheFirst(t *testing.T) {
	cl := newCluster(t, newGenerator(func(g *generator) {
		g.Annotations = map[string]string{v1beta1.AnnotationReconcile: v1beta1.ValueDisabled}
	}))
	for range 2 {
		if _, err := cl.reconcile(t); err != nil {
			t.Fatal(err)
		}
	}
	want := conditions{condition("Ready", metav1.ConditionUnknown, v1beta1.ReasonReconciliationDisabled, "reconciliation is disabled", generation)}
	if diff := cmp.Diff(texts(want), texts(cl.get(t).Status.Conditions)); diff != "" || cl.status != 1 {
		t.Errorf("%d writes (-want +got):\n%s", cl.status, diff)
	}
}

// R110: the next pass is at the object's interval, spread, whether or not there
// was anything to do.
func TestInterval(t *testing.T) {
	for name, c := range map[string]struct {
		every  string
		jitter func(time.Duration) time.Duration
		want   time.Duration
	}{
		"default":       {want: time.Hour},
		"set":           {every: "10m", want: 10 * time.Minute},
		"much too soon": {every: "1ns", want: 10 * time.Second},
		"longer":        {every: "10m", jitter: loop.Jitter(5, func() float64 { return 0.75 }), want: 10*time.Minute + 15*time.Second},
		"shorter":       {every: "10m", jitter: loop.Jitter(5, func() float64 { return 0 }), want: 9*time.Minute + 30*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, newGenerator(func(g *generator) {
				g.Annotations = map[string]string{v1beta1.AnnotationReconcileEvery: c.every}
			}))
			cl.loop.Jitter = c.jitter
			for _, end := range []error{nil, step.Done} {
				cl.steps = func(*generator, *loop.Pass) error { return end }
				if got, err := cl.reconcile(t); err != nil || got.RequeueAfter != c.want {
					t.Errorf("after %v: got %v, %v", end, got, err)
				}
			}
		})
	}
}

func TestGone(t *testing.T) {
	cl := newCluster(t, newGenerator(func(g *generator) { g.Name = "another" }))
	if got, err := cl.reconcile(t); err != nil || !got.IsZero() {
		t.Errorf("got %v, %v", got, err)
	}
}

// The event about the end of a pass says what was being done when it failed,
// and what the steps know for machines.
func TestEventHasActionAndMetadata(t *testing.T) {
	c := newCluster(t, newGenerator())
	failed := errors.New("broken")
	c.steps = func(_ *generator, p *loop.Pass) error {
		p.Metadata = map[string]string{"revision": "1"}
		return failed
	}
	if _, err := c.reconcile(t); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if c.last.Action != "Build" || c.last.Metadata["revision"] != "1" {
		t.Errorf("the event of a failure is %+v", c.last)
	}
	failed = nil
	if _, err := c.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if c.last.Action != "" || c.last.Metadata["revision"] != "1" {
		t.Errorf("the event of success is %+v", c.last)
	}
}

// An object may be stalled by what others put right without a word: it is
// looked at again, but not announced as being worked on.
func TestStalledForAWhile(t *testing.T) {
	c := newCluster(t, newGenerator())
	c.steps = func(*generator, *loop.Pass) error {
		return &fail.Error{Reason: "Denied", Class: fail.Stall, After: time.Minute, Err: errors.New("not yet")}
	}
	for range 2 {
		result, err := c.reconcile(t)
		if err != nil || result.RequeueAfter != time.Minute {
			t.Errorf("result %+v, %v", result, err)
		}
	}
	if c.status != 1 || len(c.events) != 1 {
		t.Errorf("%d writes and the events %q, want one of each", c.status, c.events)
	}
}

// That all is well alerts those who were alerted, and nobody else.
func TestSuccessIsNewsAfterFailure(t *testing.T) {
	for name, c := range map[string]struct {
		was   conditions
		trace bool
	}{"new": {fresh, true}, "interrupted": {interrupted, true}, "older": {older, true}, "retried": {retried, false}, "waiting": {waiting, false}, "stalled": {stalled, false}} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, newGenerator(func(g *generator) { g.Status.Conditions = c.was }))
			if _, err := cl.reconcile(t); err != nil {
				t.Fatal(err)
			}
			if len(cl.events) != 1 || cl.last.Trace != c.trace {
				t.Errorf("the events are %q, the last %+v", cl.events, cl.last)
			}
			cl.steps = func(*generator, *loop.Pass) error { return errors.New("broken") }
			if _, err := cl.reconcile(t); err == nil || cl.last.Trace {
				t.Errorf("a failure is told as %+v", cl.last)
			}
		})
	}
}
