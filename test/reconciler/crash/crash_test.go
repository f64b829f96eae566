package crash_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/reconcilertest"
	"github.com/weir-dev/weir/pkg/reconciler/shard"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// The scenarios are the words of the issue: first apply, update by each policy,
// adoption, takeover, recreate, prune, delete with finalizers, namespace
// creation, shard split; and kinds that come and go with their instances.

const first = `
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {a: "1", b: "1"}
---
apiVersion: v1
kind: Secret
metadata: {name: two}
stringData: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: three, annotations: {crash.weir.dev/apply-order: "1"}}
data: {a: "1"}
`

const second = `
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {a: "2"}
---
apiVersion: v1
kind: Secret
metadata: {name: two}
stringData: {a: "2"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: three, annotations: {crash.weir.dev/apply-order: "1"}}
data: {a: "1", b: "2"}
`

// foreign is what others have written over the first set and beside it.
const foreign = `
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {theirs: "1"}}
data: {c: "3"}
`

var (
	// writing are the two ways to write; they differ wherever something is.
	writing = []reconciler.UpdatePolicy{reconciler.UpdatePolicyReplace, reconciler.UpdatePolicySsaMerge}
	// updating are the ways to write what is there.
	updating = append(writing, reconciler.UpdatePolicyRecreate, reconciler.UpdatePolicySsaOverride)
)

// byPolicy runs a scenario under each of the update policies.
func byPolicy(t *testing.T, policies []reconciler.UpdatePolicy, s reconcilertest.Scenario) {
	t.Parallel()
	for _, policy := range policies {
		t.Run(string(policy), func(t *testing.T) {
			s.Options.UpdatePolicy = &policy
			each(t, s)
		})
	}
}

func TestR99_FirstApply(t *testing.T) {
	byPolicy(t, writing, reconcilertest.Scenario{Steps: []reconcilertest.Step{{Request: want(first)}}})
}

func TestR99_Update(t *testing.T) {
	byPolicy(t, updating, reconcilertest.Scenario{Steps: []reconcilertest.Step{
		{Request: want(first)},
		{Before: others("kubectl-edit", foreign), Request: want(second)},
	}})
}

func TestR99_Adoption(t *testing.T) {
	byPolicy(t, updating, reconcilertest.Scenario{Steps: []reconcilertest.Step{
		{Before: others("kubectl", foreign), Request: want(first)},
	}})
}

// theirs is an object of another owner of the same reconciler.
const theirs = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
  labels: {crash.weir.dev/owner-id: bob}
  annotations: {crash.weir.dev/owner-id: bob}
data: {a: "0"}
`

func TestR99_Takeover(t *testing.T) {
	always := reconciler.AdoptionPolicyAlways
	byPolicy(t, updating, reconcilertest.Scenario{
		Options: reconciler.ReconcilerOptions{AdoptionPolicy: &always},
		Steps:   []reconcilertest.Step{{Before: others("bob", theirs), Request: want(first)}},
	})
}

// The other owner takes an object back. That is reported and left alone.
func TestR99_Fight(t *testing.T) {
	always := reconciler.AdoptionPolicyAlways
	conflict := func(_ *reconciler.Result, err error) bool {
		c, ok := errors.AsType[*fault.OwnerConflict](err)
		return ok && c.Fight
	}
	each(t, reconcilertest.Scenario{
		Options: reconciler.ReconcilerOptions{AdoptionPolicy: &always},
		Steps: []reconcilertest.Step{
			{Before: others("bob", theirs), Request: want(first)},
			{Before: others("bob", theirs), Request: want(first), Until: conflict},
		},
	})
}

// An object of another owner is not touched, and what does not depend on it is.
func TestR99_Conflict(t *testing.T) {
	conflict := func(_ *reconciler.Result, err error) bool {
		_, ok := errors.AsType[*fault.OwnerConflict](err)
		return ok
	}
	each(t, reconcilertest.Scenario{Steps: []reconcilertest.Step{
		{Before: others("bob", theirs), Request: want(first), Until: conflict},
	}})
}

func TestR99_RecreateImmutable(t *testing.T) {
	const before = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, immutable: true, data: {a: "1"}}`
	const after = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, immutable: true, data: {a: "2"}}`
	byPolicy(t, updating, reconcilertest.Scenario{
		Options: reconciler.ReconcilerOptions{Immutable: "Recreate"},
		Steps:   []reconcilertest.Step{{Request: want(before)}, {Request: want(after)}},
	})
}

const finalized = `
apiVersion: v1
kind: ConfigMap
metadata: {name: one, finalizers: [example.com/hold]}
data: {a: "1", b: "1"}
`

// unhold takes the finalizer off when the object is going away.
func unhold(ctx context.Context, w reconcilertest.World) error {
	m := manifests(w, finalized)[0]
	m.SetNamespace(w.Namespace)
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
		return client.IgnoreNotFound(err)
	}
	if m.GetDeletionTimestamp() == nil || len(m.GetFinalizers()) == 0 {
		return nil
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	return client.IgnoreNotFound(w.Client.Patch(ctx, m, patch))
}

func TestR99_RecreateWithFinalizers(t *testing.T) {
	recreate := reconciler.UpdatePolicyRecreate
	each(t, reconcilertest.Scenario{
		Options: reconciler.ReconcilerOptions{UpdatePolicy: &recreate},
		Steps: []reconcilertest.Step{
			{Before: others("bob", finalized), Request: want(first), Between: unhold},
			{Request: want(second), Between: unhold},
		},
	})
}

func TestR99_Prune(t *testing.T) {
	const rest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1"}}`
	byPolicy(t, writing, reconcilertest.Scenario{Steps: []reconcilertest.Step{
		{Request: want(first)},
		{Request: want(rest)},
		{Request: want(first)},
	}})
}

func TestR99_Orphan(t *testing.T) {
	orphan := reconciler.DeletePolicyOrphan
	byPolicy(t, writing, reconcilertest.Scenario{
		Options: reconciler.ReconcilerOptions{DeletePolicy: &orphan},
		Steps: []reconcilertest.Step{
			{Request: want(first)},
			{Request: want(`{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1"}}`)},
			{},
		},
	})
}

func TestR99_Release(t *testing.T) {
	release := func(w reconcilertest.World) reconciler.Request {
		q := want(`{apiVersion: v1, kind: ConfigMap, metadata: {name: three}, data: {a: "1"}}`)(w)
		for _, m := range manifests(w, first)[:2] {
			m.SetNamespace(w.Namespace)
			q.Release = append(q.Release, keyOf(m))
		}
		return q
	}
	each(t, reconcilertest.Scenario{Steps: []reconcilertest.Step{{Request: want(first)}, {Request: release}}})
}

func TestR99_DeleteWithFinalizers(t *testing.T) {
	each(t, reconcilertest.Scenario{Steps: []reconcilertest.Step{
		{Before: others("bob", finalized), Request: want(first)},
		{Between: unhold},
	}})
}

const purged = `
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {crash.weir.dev/purge-order: "0"}}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {crash.weir.dev/apply-order: "1"}}
data: {a: "1"}
`

const purgedAgain = `
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {crash.weir.dev/purge-order: "0"}}
data: {a: "2"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {crash.weir.dev/apply-order: "1"}}
data: {a: "1"}
`

func TestR99_Purge(t *testing.T) {
	byPolicy(t, writing, reconcilertest.Scenario{Steps: []reconcilertest.Step{
		{Request: want(purged)}, {Request: want(purgedAgain)}, {},
	}})
}

// Several requests are in flight at once.
func TestR99_Parallel(t *testing.T) {
	byPolicy(t, writing, reconcilertest.Scenario{
		Options: reconciler.ReconcilerOptions{Parallel: 4},
		Steps: []reconcilertest.Step{
			{Request: configMaps("a", "b", "c", "d", "e", "f")},
			{Request: want(first)},
		},
	})
}

// Two owners share an object; each comes and goes alone.
func TestR99_Sharing(t *testing.T) {
	const joined = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, labels: {crash.weir.dev/managed: "true"}}, data: {c: "3"}}`
	each(t, reconcilertest.Scenario{
		Options: reconciler.ReconcilerOptions{Sharing: &stamp.Shared{
			Peer:    func(manager string) bool { return strings.HasPrefix(manager, name) },
			Managed: map[string]string{name + "/managed": "true"},
			Created: map[string]string{name + "/created": "true"},
		}},
		Steps: []reconcilertest.Step{
			{Before: others(name+"/bob", joined), Request: want(first)},
			{Request: want(second)},
			{},
		},
	})
}

const spaced = `
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: $RUN-missing}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: $RUN-missing}
data: {a: "1"}
`

func TestR99_NamespaceCreation(t *testing.T) {
	each(t, reconcilertest.Scenario{Steps: []reconcilertest.Step{{Request: want(spaced)}, {}}})
}

const ownSpace = `
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: $RUN-own}
data: {a: "1"}
---
apiVersion: v1
kind: Namespace
metadata: {name: $RUN-own}
`

// finalize does the work of the namespace controller, which takes its time, once
// the content that counts is gone.
func finalize(ctx context.Context, w reconcilertest.World) error {
	ns := manifests(w, ownSpace)[1]
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(ns), ns); err != nil || ns.GetDeletionTimestamp() == nil {
		return client.IgnoreNotFound(err)
	}
	unstructured.RemoveNestedField(ns.Object, "spec", "finalizers")
	err := w.Client.SubResource("finalize").Update(ctx, ns)
	if apierrors.IsConflict(err) {
		return nil // the controller was here
	}
	return client.IgnoreNotFound(err)
}

func TestR99_OwnNamespace(t *testing.T) {
	each(t, reconcilertest.Scenario{Steps: []reconcilertest.Step{{Request: want(ownSpace)}, {Between: finalize}}})
}

// shards keeps little in one ConfigMap.
func shards(c client.Client, w reconcilertest.World) inventory.Store {
	return &shard.Store{Client: c, Namespace: w.Namespace, Prefix: w.Name, MaxBytes: 600}
}

// configMaps wants ConfigMaps of these names.
func configMaps(names ...string) func(reconcilertest.World) reconciler.Request {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n---\n", name)
	}
	return want(b.String())
}

// split checks that the scenario is about what its name says.
func split(ctx context.Context, w reconcilertest.World) error {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
	if err := w.Client.List(ctx, list, client.InNamespace(w.Namespace)); err != nil {
		return err
	}
	n := 0
	for _, m := range list.Items {
		if strings.HasPrefix(m.Name, w.Name) {
			n++
		}
	}
	if n < 2 {
		return fmt.Errorf("the inventory has %d shards", n)
	}
	return nil
}

func TestR99_ShardSplit(t *testing.T) {
	each(t, reconcilertest.Scenario{
		Store: shards,
		Steps: []reconcilertest.Step{
			{Request: configMaps("a", "b")},
			{Request: configMaps("a", "b", "c", "d", "e", "f")},
			{Before: split, Request: configMaps("f")},
			{},
		},
	})
}

const kinds = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.$RUN.example.com}
spec:
  group: $RUN.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: $RUN.example.com/v1
kind: Widget
metadata: {name: one}
spec: {a: 1}
`

// It is not run beside others: while kinds come and go, the namespace controller
// does not know what namespaces may hold.
func TestR99_KindWithInstance(t *testing.T) {
	run(t, reconcilertest.Scenario{Steps: []reconcilertest.Step{{Request: want(kinds)}, {}}})
}
