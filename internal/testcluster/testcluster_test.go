package testcluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
)

var shared Shared

func TestMain(m *testing.M) {
	if os.Getenv(doomed) != "" {
		startAndDie()
	}
	os.Exit(shared.Run(m))
}

func TestNamespaceGoesAway(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	core := client(t, cluster.Admin())
	var name string
	t.Run("a test", func(t *testing.T) {
		name = cluster.Namespace(t)
		config := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "inside"}}
		if _, err := core.ConfigMaps(name).Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	eventually(t, "the namespace is gone", func() bool {
		_, err := core.Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if !strings.HasPrefix(name, "testnamespacegoesaway-a-test-") {
		t.Errorf("namespace is named %q, want the test's name", name)
	}
}

func TestDependentsAreCollected(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	maps := client(t, cluster.Admin()).ConfigMaps(cluster.Namespace(t))
	owner, err := maps.Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dependent := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dependent", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
	if _, err := maps.Create(t.Context(), dependent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the dependent is gone", func() bool {
		_, err := maps.Get(t.Context(), dependent.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func TestUserMayOnlyWhatIsGranted(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	namespace := cluster.Namespace(t)
	user := client(t, cluster.User(t, "alice", "developers")).ConfigMaps(namespace)
	if _, err := user.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing before the grant: %v, want forbidden", err)
	}

	rbac, err := rbacclient.NewForConfig(cluster.Admin())
	if err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "developers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "developers"}},
	}
	if _, err := rbac.RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group may list", func() bool {
		_, err := user.List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	config := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	if _, err := user.Create(t.Context(), config, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("creating without a grant: %v, want forbidden", err)
	}
}

func TestKubeconfigsActAsTheirUser(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	namespace := cluster.Namespace(t)
	for want, config := range map[string]*rest.Config{
		"weir:admin": cluster.Admin(),
		"bob":        cluster.User(t, "bob"),
		"system:serviceaccount:" + namespace + ":robot": cluster.ServiceAccount(t, namespace, "robot"),
	} {
		kubectl := exec.CommandContext(t.Context(), filepath.Join(cluster.Bin(), "kubectl"),
			"--kubeconfig", cluster.Kubeconfig(t, config), "auth", "whoami", "--output=jsonpath={.status.userInfo.username}")
		out, err := kubectl.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("kubectl auth whoami: %q, %v; want %q", out, err, want)
		}
	}
}

func TestAuditShowsWrites(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	namespace := cluster.Namespace(t)
	config := cluster.ServiceAccount(t, namespace, "robot")
	config.UserAgent = "robot/1"
	robot := client(t, config).ConfigMaps(namespace)
	admin := cluster.Admin()
	admin.UserAgent = "carol/1"
	admin.Impersonate.UserName = "carol"
	admin.Impersonate.Groups = []string{"system:masters"}
	carol := client(t, admin).ConfigMaps(namespace)
	object := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "object"}}

	before := cluster.Audit(t)
	if _, err := robot.Create(t.Context(), object, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("creating as the ServiceAccount: %v, want forbidden", err)
	}
	audit := cluster.Audit(t)
	if _, err := carol.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := carol.Delete(t.Context(), object.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}

	created := audit.Events(t, Query{Namespace: namespace, User: "carol", Writes: true})
	want := Event{
		Verb: "create", User: "weir:admin", As: "carol", Agent: "carol/1",
		Resource: "configmaps", Namespace: namespace, Name: "object", Code: 201,
		URI: "/api/v1/namespaces/" + namespace + "/configmaps",
	}
	if !slices.Equal(created, []Event{want}) {
		t.Errorf("Events = %+v, want only %+v", created, want)
	}
	if dry := audit.Events(t, Query{Namespace: namespace, Verb: "delete"}); len(dry) != 1 || !dry[0].DryRun || dry[0].Write() {
		t.Errorf("Events = %+v, want one dry run", dry)
	}
	denied := before.Events(t, Query{Agent: "robot/", User: "system:serviceaccount:" + namespace + ":robot"})
	if len(denied) != 1 || denied[0].Code != 403 {
		t.Errorf("Events = %+v, want one that is forbidden", denied)
	}
	if late := audit.Events(t, Query{Agent: "robot/"}); len(late) != 0 {
		t.Errorf("Events = %+v, want none from before the audit", late)
	}
}

// Every request must be in the audit as soon as its response has been seen.
func TestAuditIsComplete(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	namespace := cluster.Namespace(t)
	maps := client(t, cluster.Admin()).ConfigMaps(namespace)
	audit := cluster.Audit(t)
	for n := 1; n <= 50; n++ {
		if _, err := maps.Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "n"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		events := audit.Events(t, Query{Namespace: namespace, User: "weir:admin", Writes: true})
		if len(events) != n || events[n-1].Code != 201 {
			t.Fatalf("after %d writes the audit has %d, the last with status %d", n, len(events), events[len(events)-1].Code)
		}
	}
}

func TestProgramsAreMissing(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	cluster, err := Start(t.Context())
	if cluster != nil || !errors.Is(err, errNotBuilt) || !strings.Contains(err.Error(), "make controlplane") {
		t.Errorf("Start = %v, %v; want an error that names make controlplane", cluster, err)
	}
}

func client(t *testing.T, config *rest.Config) *corev1.CoreV1Client {
	t.Helper()
	client, err := corev1.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited a minute in vain until %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
