package artifactgenerator_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// estate is a world whose generator manages a namespace for each directory.
type estate struct {
	*world

	born map[string]types.UID // namespaces that were seen, by name
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	e := &estate{world: newWorld(t), born: map[string]types.UID{}}
	e.all = true
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "tenants"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: account.Name}},
	}
	for _, o := range []client.Object{account, binding} {
		if err := e.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func (e *estate) spec() string {
	return fmt.Sprintf(`
serviceAccountName: tenants
sources: [{alias: s, kind: GitRepository, name: mono}]
managedNamespaces: {allowedNames: ["ns.startsWith('%s-')"], prune: true}
commonMetadata: {labels: {part-of: tenants}}
pathPattern: "@s/{t}"
artifacts: [{name: app, namespace: "{t}", copy: [{from: "@s/{t}/**", to: "@artifact/"}]}]`, e.namespace)
}

// tenants returns the directories of the tenants with these numbers.
func (e *estate) tenants(numbers ...int) (files map[string]string, names []string) {
	files = map[string]string{"readme": "x"}
	for _, n := range numbers {
		name := fmt.Sprintf("%s-%d", e.namespace, n)
		names = append(names, name)
		files[name+"/f"] = name
	}
	slices.Sort(names)
	return files, names
}

// spaces returns the namespaces of tenants that are there. One that is wanted
// must not go away, and must be the one that it was.
func (e *estate) spaces(wanted []string) []string {
	e.t.Helper()
	var list corev1.NamespaceList
	if err := e.client.List(e.t.Context(), &list); err != nil {
		e.t.Fatal(err)
	}
	var names []string
	for _, n := range list.Items {
		if !strings.HasPrefix(n.Name, e.namespace+"-") {
			continue
		}
		names = append(names, n.Name)
		if !slices.Contains(wanted, n.Name) {
			continue
		}
		if was := e.born[n.Name]; n.DeletionTimestamp != nil || was != "" && was != n.UID {
			e.t.Errorf("namespace %s, which is wanted, was deleted", n.Name)
		}
		e.born[n.Name] = n.UID
	}
	return names
}

// lives restarts the reconciler, which may write once in each of its lives,
// until done returns nil. It returns how many lives that took.
func (e *estate) lives(wanted []string, done func() error) int {
	e.t.Helper()
	const most = 300
	for n := 1; n <= most; n++ {
		e.start()
		e.traffic.left.Store(1)
		var err error
		for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			if err = done(); err == nil || e.traffic.left.Load() == 0 || time.Since(begin) > 3*time.Second {
				break
			}
		}
		e.end()
		e.spaces(wanted)
		if err == nil {
			return n
		}
	}
	e.t.Fatalf("not done after %d lives: %v", most, done())
	return most
}

// settled reports whether the generator and the cluster are as they should be.
func (e *estate) settled(wanted []string) error {
	g := e.generator("all")
	c := apimeta.FindStatusCondition(g.Status.Conditions, "Ready")
	if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != g.Generation {
		return fmt.Errorf("conditions %+v", g.Status.Conditions)
	}
	var managed []string
	artifacts := 0
	for _, i := range g.Status.Inventory {
		if i.IsArtifact() {
			artifacts++
		} else {
			managed = append(managed, i.Name)
		}
	}
	if got := e.spaces(wanted); !slices.Equal(got, wanted) || !slices.Equal(managed, wanted) || artifacts != len(wanted) {
		return fmt.Errorf("namespaces %q, in the inventory %q with %d artifacts, want %q", got, managed, artifacts, wanted)
	}
	return nil
}

// A process that ends at any write, before it or before its answer, neither
// deletes a namespace that is wanted nor leaks one that is not.
func TestTenantsOutliveTheirController(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"before the write": false, "before the answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEstate(t)
			e.traffic.late.Store(late)
			files, wanted := e.tenants(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
			e.source("main@1", files)
			e.apply("all", e.spec())
			first := e.lives(wanted, func() error { return e.settled(wanted) })

			// Some go, one comes, one changes.
			files, wanted = e.tenants(0, 2, 3, 5, 6, 8, 9, 10)
			files[wanted[0]+"/f"] = "changed"
			e.source("main@2", files)
			second := e.lives(wanted, func() error { return e.settled(wanted) })

			g := e.generator("all")
			if err := e.client.Delete(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			third := e.lives(nil, func() error {
				err := e.client.Get(t.Context(), client.ObjectKeyFromObject(g), &v1beta1.ArtifactGenerator{})
				switch {
				case err == nil:
					return errors.New("the generator is still there")
				case !apierrors.IsNotFound(err):
					return err
				case len(e.spaces(nil)) > 0:
					return errors.New("namespaces are left")
				}
				return nil
			})
			t.Logf("%d, %d and %d lives", first, second, third)
		})
	}
}
