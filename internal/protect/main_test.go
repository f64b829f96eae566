package protect_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/protect"
	"github.com/weir-dev/weir/internal/protect/mark"
	"github.com/weir-dev/weir/internal/testcluster"
)

var shared testcluster.Shared

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(shared.Run(m))
}

const (
	controller = "system:serviceaccount:weir-system:weir-controller"
	capsule    = "system:serviceaccount:capsule-system:capsule"
)

var policies = protect.Policies{
	Controller: controller,
	Exempt:     []string{capsule},
	System:     []string{"weir-system"},
}

// stage is the cluster with the policies in force, and who plays on it.
type stage struct {
	cluster *testcluster.Cluster
	admin   client.Client
	user    func(name string) client.Client // as a user of the cluster
}

var once sync.Once

// newStage returns the stage, which the first test sets.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{cluster: shared.Cluster(t)}
	s.admin = connect(t, s.cluster.Admin())
	s.user = func(name string) client.Client { return s.as(t, name, nil) }
	once.Do(func() {
		s.setUp(t)
		s.install(t, policies.Targets(), policies.Tracking(), policies.Membership(), policies.Generators())
	})
	if t.Failed() {
		t.FailNow()
	}
	return s
}

func connect(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// as returns a client that impersonates a user or ServiceAccount, with the
// groups that the latter would have, and for a replication if one is given.
func (s *stage) as(t *testing.T, name string, replication *mark.Replication, groups ...string) client.Client {
	t.Helper()
	config := s.cluster.Admin()
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	if replication != nil {
		config.Impersonate.Extra = map[string][]string{mark.Extra: {replication.String()}}
	}
	return connect(t, config)
}

// setUp makes roles. Everybody may do all that is about resources, so that what
// is refused is refused by a policy; the word * is only in cluster-admin.
func (s *stage) setUp(t *testing.T) {
	s.create(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: everybody}
rules:
- {apiGroups: ["*"], resources: ["*"], verbs: [get, list, create, update, patch, delete, deletecollection]}
- {apiGroups: [rbac.authorization.k8s.io], resources: ["*"], verbs: [escalate, bind]}
`)
	s.grant(t, "everybody", rbacv1.Subject{Kind: "Group", Name: "system:authenticated"})
	s.grant(t, "cluster-admin", rbacv1.Subject{Kind: "User", Name: "root"}, rbacv1.Subject{Kind: "User", Name: capsule})
	s.create(t, crd)
	s.await(t, func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "WidgetList"})
		return s.admin.List(ctx, list)
	})
}

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: &any {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, subresources: {status: {}}, schema: *any}
`

// grant binds subjects to a ClusterRole.
func (s *stage) grant(t *testing.T, role string, subjects ...rbacv1.Subject) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
		Subjects:   subjects,
	}
	if err := s.admin.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}

// install creates guards and returns when they are in force.
func (s *stage) install(t *testing.T, guards ...protect.Guard) {
	t.Helper()
	for _, g := range guards {
		if err := s.admin.Create(t.Context(), g.Policy.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		for _, b := range g.Bindings {
			if err := s.admin.Create(t.Context(), b.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The API server knows all of its policies from the same moment on, but not
	// their bindings: each is tried.
	probes := []string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: p, namespace: default, labels: {projectcapsule.dev/managed-by: resources}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: p, namespace: default, labels: {projectcapsule.dev/created-by: resources}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: p, namespace: default, labels: {protection.projectcapsule.dev/replications: "true"}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: p, namespace: default, labels: {projectcapsule.dev/protected-by: x}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: p, namespace: default, labels: {capsule.clastix.io/resources: x}}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: kube-p, labels: {capsule.clastix.io/tenant: p}}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: p, labels: {source.extensions.fluxcd.io/generator: p}}}`,
	}
	for _, probe := range probes {
		s.await(t, func(ctx context.Context) error {
			if err := s.admin.Create(ctx, object(t, probe), client.DryRunAll); !isRefused(err) {
				return errors.Join(errors.New("a policy is not in force yet"), err)
			}
			return nil
		})
	}
	s.awaitTargets(t)
}

// awaitTargets returns when the policy for targets is in force, for which a
// protected object has to be there.
func (s *stage) awaitTargets(t *testing.T) {
	o := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: probe, namespace: default}}`)
	protectFor(o, mark.Replication{Name: "probe"}, controller)
	if err := s.user(controller).Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s.await(t, func(ctx context.Context) error {
		if err := s.admin.Delete(ctx, o, client.DryRunAll); !isRefused(err) {
			return errors.Join(errors.New("the policy for targets is not in force yet"), err)
		}
		return nil
	})
}

func (s *stage) await(t *testing.T, done func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = done(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}

// create makes an object as admin.
func (s *stage) create(t *testing.T, manifest string) {
	t.Helper()
	if err := s.admin.Create(t.Context(), object(t, manifest)); err != nil {
		t.Fatal(err)
	}
}

func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &o.Object); err != nil {
		t.Fatal(err)
	}
	// Numbers as the API server reads them.
	data, err := json.Marshal(o.Object)
	if err == nil {
		err = o.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// protectFor puts the marks of a protecting replication on an object.
func protectFor(o *unstructured.Unstructured, r mark.Replication, account string) {
	record(o, r, account)
	o.SetLabels(with(o.GetLabels(), "protection.projectcapsule.dev/replications", "true"))
}

// record puts the marks of a replication on an object.
func record(o *unstructured.Unstructured, r mark.Replication, account string) {
	target := mark.Target(o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName())
	o.SetAnnotations(with(o.GetAnnotations(), r.Key(), r.Record(account, target)))
	o.SetLabels(with(o.GetLabels(), "projectcapsule.dev/managed-by", "resources"))
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// isRefused reports whether a policy of ours refused a request in its own words.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'weir-") &&
		!strings.Contains(err.Error(), "expression")
}

// verdict fails the test unless the request was refused by a policy, or passed.
func verdict(t *testing.T, err error, refused bool) {
	t.Helper()
	switch {
	case refused && !isRefused(err):
		t.Errorf("got %v, want a refusal", err)
	case !refused && err != nil:
		t.Errorf("got %v, want it to pass", err)
	}
}

// grantUser binds a user to a ClusterRole.
func (s *stage) grantUser(t *testing.T, role, name string) {
	t.Helper()
	s.grant(t, role, rbacv1.Subject{Kind: "User", Name: name})
}

// awaitPass returns when the client may create the object; nothing is created.
func (s *stage) awaitPass(t *testing.T, c client.Client, o *unstructured.Unstructured) {
	t.Helper()
	s.await(t, func(ctx context.Context) error { return c.Create(ctx, o.DeepCopy(), client.DryRunAll) })
}
