package protect_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/protect/mark"
)

// kinds are manifests of the objects that the tables are played with: of the
// core, with controllers, custom in two versions, and cluster-scoped.
var kinds = map[string]string{
	"ConfigMap": `{apiVersion: v1, kind: ConfigMap, metadata: {name: guarded}, data: {v: "1"}}`,
	"Deployment": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: guarded}
spec:
  selector: {matchLabels: {app: x}}
  template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x}]}}`,
	"Widget v1":   `{apiVersion: example.com/v1, kind: Widget, metadata: {name: guarded}, spec: {v: 1}}`,
	"Widget v2":   `{apiVersion: example.com/v2, kind: Widget, metadata: {name: guarded}, spec: {v: 1}}`,
	"ClusterRole": `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: guarded}}`,
}

var (
	global = mark.Replication{Name: "profile"}
	local  = mark.Replication{Namespace: "solar-system", Name: "profile"}
)

const (
	worker  = "system:serviceaccount:solar-system:worker"  // the account of local
	another = "system:serviceaccount:solar-system:another" // of other replications
)

// requests are what the tables ask for. None of them changes anything unless it
// passes.
var requests = map[string]func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error{
	"update": func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
		o = o.DeepCopy()
		o.SetLabels(with(o.GetLabels(), "mine", "1"))
		return c.Update(ctx, o, client.DryRunAll)
	},
	"patch": func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"mine":"1"}}}`))
		return c.Patch(ctx, o.DeepCopy(), patch, client.DryRunAll)
	},
	"apply": func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
		mine := &unstructured.Unstructured{}
		mine.SetGroupVersionKind(o.GroupVersionKind())
		mine.SetNamespace(o.GetNamespace())
		mine.SetName(o.GetName())
		mine.SetLabels(map[string]string{"mine": "1"})
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(mine), client.FieldOwner("me"), client.DryRunAll)
	},
	"delete": func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
		return c.Delete(ctx, o, client.DryRunAll)
	},
	"delete a collection": func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
		return c.DeleteAllOf(ctx, o, client.InNamespace(o.GetNamespace()), client.MatchingLabels{"test": o.GetLabels()["test"]}, client.DryRunAll)
	},
}

// protected makes one of the kinds as the controller does for the replications,
// each with its account.
func (s *stage) protected(t *testing.T, kind string, managers map[mark.Replication]string) *unstructured.Unstructured {
	t.Helper()
	o := object(t, kinds[kind])
	name := s.cluster.Namespace(t)
	o.SetLabels(map[string]string{"test": name})
	if kind == "ClusterRole" {
		o.SetName(name)
	} else {
		o.SetNamespace(name)
	}
	for r, account := range managers {
		protectFor(o, r, account)
	}
	if err := s.user(controller).Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// The rows of the decision table, for every kind and request. Dry runs get the
// verdict of the real request; see TestRefusalChangesNothing for that.
func TestWhoMayWriteTargets(t *testing.T) {
	s := newStage(t)
	s.glass(t)
	actors := map[string]struct {
		client  client.Client
		refused bool
	}{
		"the controller": {s.user(controller), false},
		"the controller as an account it has recorded": {s.as(t, worker, &local), false},
		"the controller after a switch of accounts":    {s.as(t, another, &local), false},
		"the recorded account by itself":               {s.user(worker), false},
		"an exempt account":                            {s.user(capsule), false},
		"who holds the verb":                           {s.as(t, "alice", nil, "weir:break-glass"), false},

		"the controller for another replication":     {s.as(t, another, &mark.Replication{Namespace: "solar-system", Name: "mine"}), true},
		"the account of another replication":         {s.user(another), true},
		"a tenant owner":                             {s.user("alice"), true},
		"cluster-admin":                              {s.user("root"), true},
		"system:masters":                             {s.admin, true},
		"the garbage collector":                      {s.user("system:serviceaccount:kube-system:generic-garbage-collector"), true},
		"another controller of the cluster":          {s.user("system:kube-controller-manager"), true},
		"a ServiceAccount of the controller's group": {s.as(t, "bob", nil, "system:serviceaccounts:weir-system"), true},
		"cluster-admin who holds the verb too":       {s.as(t, "root", nil, "weir:break-glass"), true},
	}
	for kind := range kinds {
		for who, actor := range actors {
			t.Run(kind+"/"+who, func(t *testing.T) {
				t.Parallel()
				o := s.protected(t, kind, map[mark.Replication]string{local: worker})
				for what, request := range requests {
					t.Run(what, func(t *testing.T) { verdict(t, request(t.Context(), actor.client, o), actor.refused) })
				}
			})
		}
	}
}

// glass grants the verb to a group, as the documentation shows.
func (s *stage) glass(t *testing.T) {
	t.Helper()
	s.createBlock(t, "glass")
	s.await(t, func(ctx context.Context) error {
		probe := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: probe, namespace: default}}`)
		return s.as(t, "alice", nil, "weir:break-glass").Delete(ctx, probe, client.DryRunAll)
	})
}

// What is refused for real leaves the object as it was, and the words name the
// manager also where a request has no name.
func TestRefusalChangesNothing(t *testing.T) {
	s := newStage(t)
	alice := s.user("alice")
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := s.protected(t, kind, map[mark.Replication]string{global: controller, local: worker})
			name := client.ObjectKeyFromObject(o)
			changed := o.DeepCopy()
			changed.SetLabels(map[string]string{"test": o.GetLabels()["test"]})
			changed.SetAnnotations(map[string]string{"mine": "1"})
			for what, err := range map[string]error{
				"delete":              alice.Delete(t.Context(), o.DeepCopy()),
				"delete a collection": alice.DeleteAllOf(t.Context(), o.DeepCopy(), client.InNamespace(o.GetNamespace()), client.MatchingLabels{"test": o.GetLabels()["test"]}),
				"unmark and change":   alice.Update(t.Context(), changed),
			} {
				if !isRefused(err) {
					t.Errorf("%s: got %v, want a refusal", what, err)
					continue
				}
				for _, word := range []string{"is managed by a", o.GetName(), global.String() + " and 1 more"} {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%s: %q does not say %q", what, err, word)
					}
				}
			}
			live := o.DeepCopy()
			if err := s.admin.Get(t.Context(), name, live); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(o.Object, live.Object); diff != "" {
				t.Errorf("the object has changed (-was +is):\n%s", diff)
			}
		})
	}
}

// Controllers, autoscalers and drains work through subresources.
func TestSubresourcesStayOpen(t *testing.T) {
	s := newStage(t)
	managers := map[mark.Replication]string{local: worker}
	alice := s.user("alice")
	for _, kind := range []string{"Deployment", "Widget v1", "Widget v2"} {
		o := s.protected(t, kind, managers)
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"observedGeneration":7}}`))
		if err := alice.Status().Patch(t.Context(), o, patch); err != nil {
			t.Errorf("status of a %s: %v", kind, err)
		}
	}
	scale := object(t, `{apiVersion: autoscaling/v1, kind: Scale, spec: {replicas: 3}}`)
	o := s.protected(t, "Deployment", managers)
	if err := alice.SubResource("scale").Update(t.Context(), o, client.WithSubResourceBody(scale)); err != nil {
		t.Errorf("scale: %v", err)
	}
	// Marks cannot be changed there either: the status of a Deployment takes
	// annotations.
	for _, kind := range []string{"Deployment", "Widget v1"} {
		o := s.protected(t, kind, managers)
		o.SetAnnotations(nil)
		if err := alice.Status().Update(t.Context(), o); err != nil && !isRefused(err) {
			t.Error(err)
		}
		if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		if _, ok := o.GetAnnotations()[local.Key()]; !ok {
			t.Errorf("the record of a %s went through its status", kind)
		}
	}
}

// An eviction deletes a pod that may not be deleted.
func TestEviction(t *testing.T) {
	s := newStage(t)
	o := object(t, `{apiVersion: v1, kind: Pod, metadata: {name: guarded}, spec: {containers: [{name: x, image: x}]}}`)
	o.SetNamespace(s.cluster.Namespace(t))
	protectFor(o, local, worker)
	if err := s.user(controller).Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	alice := s.user("alice")
	verdict(t, alice.Delete(t.Context(), o.DeepCopy()), true)
	eviction := object(t, `{apiVersion: policy/v1, kind: Eviction, metadata: {name: guarded}}`)
	eviction.SetNamespace(o.GetNamespace())
	verdict(t, alice.SubResource("eviction").Create(t.Context(), o, eviction), false)
}

// Each of several managers may write; nobody else may.
func TestSharedTarget(t *testing.T) {
	s := newStage(t)
	o := s.protected(t, "ConfigMap", map[mark.Replication]string{global: controller, local: worker})
	update := requests["update"]
	verdict(t, update(t.Context(), s.user(worker), o), false)
	verdict(t, update(t.Context(), s.as(t, another, &global), o), false)
	verdict(t, update(t.Context(), s.user(another), o), true)

	// One leaves: its account has nothing to do with the object any more.
	one := o.DeepCopy()
	as := one.GetAnnotations()
	delete(as, local.Key())
	one.SetAnnotations(as)
	if err := s.as(t, worker, &local).Update(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	verdict(t, update(t.Context(), s.user(worker), one), true)
	verdict(t, update(t.Context(), s.user(controller), one), false)

	// The last takes off the marks, and the object is free.
	one.SetAnnotations(nil)
	one.SetLabels(nil)
	if err := s.user(controller).Update(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	verdict(t, s.user("alice").Delete(t.Context(), one), false)
}

// A label without a record protects nothing: controllers copy labels from
// parents, and Capsule writes the same one.
func TestLabelAloneProtectsNothing(t *testing.T) {
	s := newStage(t)
	o := object(t, kinds["ConfigMap"])
	o.SetNamespace(s.cluster.Namespace(t))
	o.SetLabels(map[string]string{"protection.projectcapsule.dev/replications": "true"})
	if err := s.user(capsule).Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	verdict(t, requests["update"](t.Context(), s.user("alice"), o), false)
	o.SetAnnotations(map[string]string{local.Key(): local.Record("alice", "ConfigMap/elsewhere/guarded")})
	if err := s.admin.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	verdict(t, requests["delete"](t.Context(), s.user("alice"), o), false)
}

// A write of what is there already is how the storage version is migrated.
func TestNothingChangesPasses(t *testing.T) {
	s := newStage(t)
	for kind := range kinds {
		o := s.protected(t, kind, map[mark.Replication]string{local: worker})
		verdict(t, s.user("alice").Update(t.Context(), o.DeepCopy(), client.FieldOwner("migrator")), false)
		// To own what is there is to change who owns it.
		mine := &unstructured.Unstructured{}
		mine.SetGroupVersionKind(o.GroupVersionKind())
		mine.SetNamespace(o.GetNamespace())
		mine.SetName(o.GetName())
		mine.SetLabels(map[string]string{"test": o.GetLabels()["test"]})
		err := s.user("alice").Apply(t.Context(), client.ApplyConfigurationFromUnstructured(mine), client.FieldOwner("me"))
		verdict(t, err, true)
	}
}

// An object that is on its way out can be let go of, and not changed otherwise.
func TestDyingObject(t *testing.T) {
	s := newStage(t)
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			o := s.protected(t, kind, map[mark.Replication]string{local: worker})
			o.SetFinalizers([]string{"example.com/a", "example.com/b"})
			c := s.user(controller)
			if err := c.Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if err := c.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				t.Fatal(err)
			}
			alice := s.user("alice")
			changed := o.DeepCopy()
			changed.SetFinalizers([]string{"example.com/a"})
			changed.SetLabels(with(changed.GetLabels(), "mine", "1"))
			verdict(t, alice.Update(t.Context(), changed), true)
			verdict(t, requests["update"](t.Context(), alice, o), true)
			o.SetFinalizers([]string{"example.com/a"})
			verdict(t, alice.Update(t.Context(), o), false)
			verdict(t, alice.Delete(t.Context(), o), false)
			o.SetFinalizers(nil)
			verdict(t, alice.Update(t.Context(), o), false)
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
				t.Errorf("the object is still there: %v", err)
			}
		})
	}
}

// A namespace goes although no controller runs and its objects are protected;
// until then its objects cannot be changed.
func TestNamespaceGoes(t *testing.T) {
	s := newStage(t)
	names := map[string]*unstructured.Unstructured{}
	for kind := range kinds {
		if kind == "ClusterRole" {
			continue
		}
		o := s.protected(t, kind, map[mark.Replication]string{local: worker})
		o.SetFinalizers([]string{"example.com/hold"})
		if err := s.user(controller).Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		names[o.GetNamespace()] = o
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		ns := object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: `+name+`}}`)
		if err := s.admin.Delete(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range names {
		// The namespace controller's deletion has passed.
		s.await(t, func(ctx context.Context) error {
			if err := s.admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			if o.GetDeletionTimestamp() == nil {
				return errors.New("the object has not been deleted yet")
			}
			return nil
		})
		alice := s.user("alice")
		verdict(t, requests["update"](t.Context(), alice, o), true)
		o.SetFinalizers(nil)
		verdict(t, alice.Update(t.Context(), o), false)
	}
	for name := range names {
		s.await(t, func(ctx context.Context) error {
			ns := object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: `+name+`}}`)
			err := s.admin.Get(ctx, client.ObjectKeyFromObject(ns), ns)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("the namespace is still there"), err)
		})
	}
}
