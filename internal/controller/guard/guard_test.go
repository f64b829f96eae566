package guard_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/controller/guard"
	"github.com/weir-dev/weir/internal/protect"
	"github.com/weir-dev/weir/internal/testcluster"
)

var shared testcluster.Shared

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(shared.Run(m))
}

// world is a cluster with a keeper that runs as the controller would.
type world struct {
	t       *testing.T
	cluster *testcluster.Cluster
	admin   client.Client
	user    string
	config  *rest.Config
	options guard.Options
	states  chan guard.State
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, cluster: shared.Cluster(t), states: make(chan guard.State, 100)}
	w.admin = w.client(w.cluster.Admin())
	namespace := w.cluster.Namespace(t)
	w.user = "system:serviceaccount:" + namespace + ":weir-controller"
	w.config = w.cluster.ServiceAccount(t, namespace, "weir-controller")
	p := protect.Policies{Controller: w.user, System: []string{namespace}}
	w.options = guard.Options{
		Targets: p.Targets(),
		Others: func() ([]protect.Guard, error) {
			return []protect.Guard{p.Tracking(), p.Membership(), p.Generators()}, nil
		},
		Report: func(s guard.State) { w.states <- s },
		Log:    logr.Discard(),
	}
	t.Cleanup(w.clear)
	return w
}

func (w *world) client(config *rest.Config) client.Client {
	w.t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// grant gives the controller the rights that its manifests have to give it.
func (w *world) grant() {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "role.yaml"))
	if err != nil {
		w.t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(data, role); err != nil {
		w.t.Fatal(err)
	}
	if err := w.admin.Create(w.t.Context(), role); client.IgnoreAlreadyExists(err) != nil {
		w.t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "guard-"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: w.user}},
	}
	if err := w.admin.Create(w.t.Context(), binding); err != nil {
		w.t.Fatal(err)
	}
}

// start runs a keeper until the returned function is called, or the test ends.
func (w *world) start() (k *guard.Keeper, stop func()) {
	w.t.Helper()
	o := w.options
	if o.Client == nil {
		o.Client = w.client(w.config)
	}
	c, err := cache.New(w.config, cache.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	o.Cache = c
	k = guard.New(o)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 2)
	go func() { done <- c.Start(ctx) }()
	go func() { done <- k.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				w.t.Errorf("the keeper ended with %v", err)
			}
		}
	}
	w.t.Cleanup(stop)
	return k, stop
}

// clear removes all policies.
func (w *world) clear() {
	ctx := context.Background()
	for _, o := range []client.Object{&v1.ValidatingAdmissionPolicyBinding{}, &v1.ValidatingAdmissionPolicy{}} {
		if err := w.admin.DeleteAllOf(ctx, o); err != nil {
			w.t.Error(err)
		}
	}
}

// want waits for a state with the reason.
func (w *world) want(reason string) guard.State {
	w.t.Helper()
	for {
		select {
		case s := <-w.states:
			if s.Reason == reason {
				return s
			}
		case <-time.After(time.Minute):
			w.t.Fatalf("the keeper never reported %s", reason)
		}
	}
}

func (w *world) await(done func(context.Context) error) {
	w.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = done(ctx)
		return last == nil, nil
	})
	if err != nil {
		w.t.Fatalf("%v: %v", err, last)
	}
}

func (w *world) others() []protect.Guard {
	others, err := w.options.Others()
	if err != nil {
		w.t.Fatal(err)
	}
	return others
}

// objects are all objects as wanted.
func (w *world) objects() []client.Object {
	var out []client.Object
	for _, g := range append([]protect.Guard{w.options.Targets}, w.others()...) {
		out = append(out, g.Policy.DeepCopy())
		for _, b := range g.Bindings {
			out = append(out, b.DeepCopy())
		}
	}
	return out
}

func TestInstallsAndRepairs(t *testing.T) {
	w := newWorld(t)
	w.grant()
	k, _ := w.start()
	w.want(guard.InForce)
	if s := k.State(); !s.InForce {
		t.Errorf("the state is %+v", s)
	}
	versions := map[string]string{}
	for _, o := range w.objects() {
		if err := w.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		versions[o.GetName()] = string(o.GetUID())
	}

	policy := w.options.Targets.Policy.Name
	for name, break_ := range map[string]func(ctx context.Context) error{
		"a policy is weakened": func(ctx context.Context) error {
			return w.admin.Patch(ctx, &v1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: policy}},
				client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"failurePolicy":"Ignore","matchConditions":[{"name":"none","expression":"false"}]}}`)))
		},
		"a binding only warns": func(ctx context.Context) error {
			return w.admin.Patch(ctx, &v1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy}},
				client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"validationActions":["Warn"]}}`)))
		},
		"a binding is deleted": func(ctx context.Context) error {
			return w.admin.Delete(ctx, &v1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy}})
		},
		"all is deleted": func(ctx context.Context) error {
			return w.admin.DeleteAllOf(ctx, &v1.ValidatingAdmissionPolicy{})
		},
		"a label is taken off": func(ctx context.Context) error {
			return w.admin.Patch(ctx, &v1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: policy}},
				client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":null}}`)))
		},
	} {
		if err := break_(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range w.objects() {
			w.await(func(ctx context.Context) error { return w.isSame(ctx, name, want) })
		}
	}
}

// isSame returns an error unless the cluster has the object as wanted.
func (w *world) isSame(ctx context.Context, when string, want client.Object) error {
	live := want.DeepCopyObject().(client.Object)
	if err := w.admin.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return err
	}
	live.SetUID("")
	fields := func(o client.Object) string {
		var spec any
		switch o := o.(type) {
		case *v1.ValidatingAdmissionPolicy:
			spec = o.Spec
		case *v1.ValidatingAdmissionPolicyBinding:
			spec = o.Spec
		}
		data, err := yaml.Marshal(map[string]any{"labels": o.GetLabels(), "spec": spec})
		if err != nil {
			w.t.Fatal(err)
		}
		return string(data)
	}
	if fields(live) != fields(want) {
		return errors.New("when " + when + ", " + want.GetName() + " is not set right")
	}
	return nil
}

// What is installed already costs nothing but the watches.
func TestSteadyStateCostsNothing(t *testing.T) {
	w := newWorld(t)
	w.grant()
	_, stop := w.start()
	w.want(guard.InForce)
	stop()
	w.awaitLists()
	audit := w.cluster.Audit(t)
	w.start()
	w.want(guard.InForce)
	for _, e := range audit.Events(t, testcluster.Query{User: w.user}) {
		if e.Resource != "" && e.Verb != "watch" && e.Verb != "list" {
			t.Errorf("asked for: %s %s", e.Verb, e.URI)
		}
	}
}

// awaitLists returns when lists that the API server answers from its cache have
// all that is installed.
func (w *world) awaitLists() {
	w.await(func(ctx context.Context) error {
		var bindings v1.ValidatingAdmissionPolicyBindingList
		if err := w.admin.List(ctx, &bindings, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}); err != nil {
			return err
		}
		// The last policy with its binding is created last.
		for _, b := range bindings.Items {
			if others := w.others(); b.Name == others[len(others)-1].Bindings[0].Name {
				return nil
			}
		}
		return errors.New("the list lacks the last binding")
	})
}

func TestTurnedOff(t *testing.T) {
	w := newWorld(t)
	w.grant()
	_, stop := w.start()
	w.want(guard.InForce)
	stop()
	w.options.Off = true
	k, stop := w.start()
	w.want(guard.TurnedOff)
	if k.State().InForce {
		t.Error("protection is said to be in force")
	}
	for _, o := range w.objects() {
		err := w.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		if targets := strings.HasPrefix(o.GetName(), w.options.Targets.Policy.Name); targets != apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", o.GetName(), err)
		}
	}
	stop()
	w.options.Off = false
	w.start()
	w.want(guard.InForce)
}

// Without the rights protection is not in force, which is said; once they are
// granted it is.
func TestForbidden(t *testing.T) {
	w := newWorld(t)
	policies := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "reader-"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{v1.GroupName}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
	}
	if err := w.admin.Create(t.Context(), policies); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "reader-"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: policies.Name},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: w.user}},
	}
	if err := w.admin.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	k, _ := w.start()
	s := w.want(guard.NotInstalled)
	if s.InForce || !strings.Contains(s.Message, `installing ValidatingAdmissionPolicy "weir-protection"`) || !strings.Contains(s.Message, "more)") {
		t.Errorf("the state is %+v", s)
	}
	w.grant()
	w.want(guard.InForce)
	if !k.State().InForce {
		t.Error("protection is not said to be in force")
	}
}

// The command of the page for a cluster that Weir has left takes all away.
func TestUninstall(t *testing.T) {
	w := newWorld(t)
	w.grant()
	_, stop := w.start()
	w.want(guard.InForce)
	stop()
	page, err := os.ReadFile("../../../docs/protection.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- uninstall -->\n```sh\n")
	text, _, _ := strings.Cut(rest, "```\n")
	command := exec.CommandContext(t.Context(), "sh", "-c", text)
	command.Env = []string{"PATH=" + w.cluster.Bin() + ":" + os.Getenv("PATH"), "KUBECONFIG=" + w.cluster.Kubeconfig(t, w.cluster.Admin()), "HOME=" + t.TempDir()}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, o := range w.objects() {
		if err := w.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", o.GetName(), err)
		}
	}
}
