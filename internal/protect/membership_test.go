package protect_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/protect"
	"github.com/weir-dev/weir/internal/testcluster"
)

var shared testcluster.Shared

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// labelled returns a merge patch of the label of the tenant; nil takes it off.
func labelled(tenant any) string {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{v1beta2.LabelTenant: tenant}}})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func owned(tenants ...string) string {
	refs := []any{}
	for _, t := range tenants {
		refs = append(refs, map[string]any{"apiVersion": v1beta2.GroupVersion.String(), "kind": "Tenant", "name": t, "uid": "uid-" + t})
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": refs}})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Who may change the tenant of a namespace, as the API server decides it: it
// compiles the policy, and plays it with real users.
func TestMembership(t *testing.T) {
	cluster := shared.Cluster(t)
	admin := newClient(t, cluster, "")
	install(t, admin, protect.Membership())
	grant(t, admin)
	for name, c := range map[string]struct {
		user      string // empty: who may do everything
		namespace string // empty: one that is made for the case
		first     string // patch by who may do everything
		patch     string
		sub       string // subresource
		err       string // empty: allowed
	}{
		"an owner brings in":               {user: "alice", patch: labelled("solar")},
		"an owner takes out":               {user: "alice", first: labelled("solar"), patch: labelled(nil)},
		"another's tenant":                 {user: "alice", patch: labelled("oil"), err: "not allowed for one of: oil"},
		"out of another's tenant":          {user: "alice", first: labelled("oil"), patch: labelled(nil), err: "oil"},
		"from another's tenant":            {user: "alice", first: labelled("oil"), patch: labelled("solar"), err: "oil"},
		"into another's tenant":            {user: "alice", first: labelled("solar"), patch: labelled("oil"), err: "oil"},
		"a tenant that is not there":       {user: "alice", patch: labelled("future"), err: "future"},
		"nobody":                           {user: "bob", patch: labelled("solar"), err: "solar"},
		"by owner reference":               {user: "bob", patch: owned("solar"), err: "solar"},
		"by owner reference, as an owner":  {user: "alice", patch: owned("solar")},
		"two tenants":                      {patch: owned("solar", "oil"), err: "several tenants"},
		"a label beside another reference": {first: owned("solar"), patch: labelled("oil"), err: "several tenants"},
		"a label beside its reference":     {user: "bob", first: owned("solar"), patch: labelled("solar")},
		"something else":                   {user: "bob", first: labelled("solar"), patch: `{"metadata":{"labels":{"a":"b"}}}`},
		"by the status":                    {user: "bob", patch: labelled("solar"), sub: "status", err: "solar"},
		"everything":                       {patch: labelled("solar")},
		"the system":                       {namespace: "kube-system", patch: labelled("solar"), err: "of the system"},
		"the default":                      {namespace: "default", patch: labelled("solar"), err: "of the system"},
		"the system, something else":       {namespace: "kube-system", patch: `{"metadata":{"labels":{"a":"b"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
			if ns.Name == "" {
				ns.Name = cluster.Namespace(t)
			}
			if c.first != "" {
				if err := admin.Patch(t.Context(), ns, client.RawPatch(types.MergePatchType, []byte(c.first))); err != nil {
					t.Fatal(err)
				}
			}
			as := newClient(t, cluster, c.user)
			patch := client.RawPatch(types.MergePatchType, []byte(c.patch))
			var err error
			if c.sub != "" {
				err = as.SubResource(c.sub).Patch(t.Context(), ns, patch)
			} else {
				err = as.Patch(t.Context(), ns, patch)
			}
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// A namespace is also guarded when it is made.
func TestMembershipOfNewNamespaces(t *testing.T) {
	cluster := shared.Cluster(t)
	admin := newClient(t, cluster, "")
	install(t, admin, protect.Membership())
	grant(t, admin)
	for user, fine := range map[string]bool{"alice": true, "bob": false} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new-by-" + user, Labels: map[string]string{v1beta2.LabelTenant: "solar"}}}
		err := newClient(t, cluster, user).Create(t.Context(), ns, client.DryRunAll)
		if (err == nil) != fine {
			t.Errorf("%s: %v", user, err)
		}
	}
}

func newClient(t *testing.T, cluster *testcluster.Cluster, user string) client.Client {
	t.Helper()
	config := cluster.Admin()
	if user != "" {
		config = cluster.User(t, user)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// install puts a policy into force, for which the API server compiles it, and
// waits until the server follows it.
func install(t *testing.T, admin client.Client, p protect.Policy) {
	t.Helper()
	for _, o := range []client.Object{p.Policy.DeepCopy(), p.Binding.DeepCopy()} {
		if err := admin.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	until := time.Now().Add(30 * time.Second)
	for {
		probe := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-probe", Labels: map[string]string{v1beta2.LabelTenant: "probe"}}}
		err := admin.Create(t.Context(), probe, client.DryRunAll)
		if err != nil && strings.Contains(err.Error(), "of the system") {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the policy is not in force: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// grant lets alice and bob change namespaces, and alice assign the tenant solar.
func grant(t *testing.T, admin client.Client) {
	t.Helper()
	for _, g := range []struct {
		name  string
		rule  rbacv1.PolicyRule
		users []string
	}{
		{"namespaces", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces", "namespaces/status"}, Verbs: []string{"*"}}, []string{"alice", "bob"}},
		{"solar", rbacv1.PolicyRule{APIGroups: []string{v1beta2.GroupVersion.Group}, Resources: []string{"tenants"}, ResourceNames: []string{"solar"}, Verbs: []string{protect.VerbAssign}}, []string{"alice"}},
	} {
		about := metav1.ObjectMeta{Name: "membership-" + g.name}
		var subjects []rbacv1.Subject
		for _, u := range g.users {
			subjects = append(subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: u})
		}
		for _, o := range []client.Object{
			&rbacv1.ClusterRole{ObjectMeta: about, Rules: []rbacv1.PolicyRule{g.rule}},
			&rbacv1.ClusterRoleBinding{ObjectMeta: about, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: about.Name}},
		} {
			if err := admin.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
		}
	}
}
