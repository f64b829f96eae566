package protect_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/protect/mark"
)

// edit is a change of an object's metadata.
type edit func(o *unstructured.Unstructured)

func label(key, value string) edit {
	return func(o *unstructured.Unstructured) { o.SetLabels(with(o.GetLabels(), key, value)) }
}

func unlabel(key string) edit {
	return func(o *unstructured.Unstructured) {
		ls := o.GetLabels()
		delete(ls, key)
		o.SetLabels(ls)
	}
}

func recorded(r mark.Replication, account string) edit {
	return func(o *unstructured.Unstructured) {
		target := mark.Target(o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName())
		o.SetAnnotations(with(o.GetAnnotations(), r.Key(), r.Record(account, target)))
	}
}

func unrecorded(r mark.Replication) edit {
	return func(o *unstructured.Unstructured) {
		as := o.GetAnnotations()
		delete(as, r.Key())
		o.SetAnnotations(as)
	}
}

// owned has an object controlled by another, which is there: the garbage
// collector would take it else.
func (s *stage) owned(t *testing.T) edit {
	t.Helper()
	owner := object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: default}}`)
	if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(owner), owner); err != nil {
		t.Fatal(err)
	}
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true)}
	return func(o *unstructured.Unstructured) { o.SetOwnerReferences([]metav1.OwnerReference{ref}) }
}

const (
	managedBy = "projectcapsule.dev/managed-by"
	createdBy = "projectcapsule.dev/created-by"
	guarding  = "protection.projectcapsule.dev/replications"
)

// Nobody but the controller says who manages an object: by label or
// annotation, in one step or several.
func TestWhoMayWriteMarks(t *testing.T) {
	s := newStage(t)
	s.glass(t)
	mine := mark.Replication{Namespace: "solar-system", Name: "mine"}
	owned := s.owned(t)
	alice, endpoints := s.user("alice"), s.user("system:serviceaccount:kube-system:endpoint-controller")
	for name, c := range map[string]struct {
		// who asks for the last step, after the admin, who makes the object, and
		// the controller; a step of the admin is one that is free to everybody.
		who     client.Client
		admin   []edit
		ours    []edit
		step    []edit
		refused bool
	}{
		"label an object as managed":           {who: alice, step: []edit{label(managedBy, "resources")}, refused: true},
		"label it as Capsule does":             {who: alice, step: []edit{label(managedBy, "replications")}, refused: true},
		"label it as created":                  {who: alice, step: []edit{label(createdBy, "resources")}, refused: true},
		"label it as created in the old way":   {who: alice, step: []edit{label("capsule.clastix.io/resources", "x")}, refused: true},
		"label it as protected":                {who: alice, step: []edit{label(guarding, "true")}, refused: true},
		"label it as protected in the old way": {who: alice, step: []edit{label("projectcapsule.dev/protected-by", "replications")}, refused: true},
		"a value of Capsule's other parts":     {who: alice, step: []edit{label(createdBy, "controller")}},
		"from such a value to ours":            {who: alice, admin: []edit{label(createdBy, "controller")}, step: []edit{label(createdBy, "resources")}, refused: true},
		"another label":                        {who: alice, ours: []edit{label(managedBy, "resources"), recorded(global, controller)}, step: []edit{label("mine", "1")}},

		"unlabel a managed object":        {who: alice, ours: []edit{label(managedBy, "resources"), recorded(global, controller)}, step: []edit{unlabel(managedBy)}, refused: true},
		"take off a record":               {who: alice, ours: []edit{label(managedBy, "resources"), recorded(global, controller)}, step: []edit{unrecorded(global)}, refused: true},
		"put oneself into a record":       {who: alice, ours: []edit{label(managedBy, "resources"), recorded(global, controller)}, step: []edit{recorded(global, "alice")}, refused: true},
		"add a record":                    {who: alice, ours: []edit{label(managedBy, "resources"), recorded(global, controller)}, step: []edit{recorded(mine, "alice")}, refused: true},
		"seed a record":                   {who: alice, step: []edit{recorded(mine, "alice")}},
		"protect what is seeded":          {who: alice, admin: []edit{recorded(mine, "alice")}, step: []edit{label(guarding, "true")}, refused: true},
		"protect a controlled object":     {who: alice, admin: []edit{owned, recorded(mine, "alice")}, step: []edit{label(guarding, "true")}, refused: true},
		"record on a copy":                {who: alice, admin: []edit{owned, label(guarding, "true")}, step: []edit{recorded(mine, "alice")}, refused: true},
		"clean up labels":                 {who: alice, admin: []edit{owned, label(managedBy, "resources")}, step: []edit{unlabel(managedBy)}},
		"copy labels to a child":          {who: alice, step: []edit{owned, label(managedBy, "resources"), label(guarding, "true")}},
		"copy labels as the cluster does": {who: endpoints, step: []edit{label(managedBy, "resources"), label(guarding, "true")}},
		"record as the cluster":           {who: endpoints, step: []edit{label(managedBy, "resources"), recorded(mine, "alice")}, refused: true},
		"cluster-admin":                   {who: s.user("root"), step: []edit{label(managedBy, "resources")}, refused: true},
		"who holds the verb":              {who: s.as(t, "alice", nil, "weir:break-glass"), step: []edit{label(managedBy, "resources")}},
		"who holds the verb, on a record": {who: s.as(t, "alice", nil, "weir:break-glass"), ours: []edit{label(managedBy, "resources"), recorded(global, controller)}, step: []edit{unlabel(managedBy), unrecorded(global)}},
		"an exempt account":               {who: s.user(capsule), step: []edit{label(managedBy, "resources")}},

		"the controller for a replication":            {who: s.as(t, worker, &local), step: []edit{label(managedBy, "resources"), recorded(local, worker)}},
		"the account of the replication by itself":    {who: s.user(worker), step: []edit{label(managedBy, "resources"), recorded(local, worker)}, refused: true},
		"the controller takes another account":        {who: s.as(t, another, &local), ours: []edit{label(managedBy, "resources"), recorded(local, worker)}, step: []edit{recorded(local, another)}},
		"the controller joins":                        {who: s.as(t, worker, &local), ours: []edit{label(managedBy, "resources"), recorded(global, controller)}, step: []edit{recorded(local, worker)}},
		"the controller leaves":                       {who: s.as(t, worker, &local), ours: []edit{label(managedBy, "resources"), recorded(local, worker)}, step: []edit{unlabel(managedBy), unrecorded(local)}},
		"a replication leaves for another":            {who: s.as(t, worker, &local), ours: []edit{label(managedBy, "resources"), recorded(global, controller)}, step: []edit{unrecorded(global)}, refused: true},
		"a replication records another":               {who: s.as(t, worker, &local), step: []edit{label(managedBy, "resources"), recorded(global, worker)}, refused: true},
		"a replication records an account not its":    {who: s.as(t, worker, &local), step: []edit{label(managedBy, "resources"), recorded(local, "alice")}, refused: true},
		"the controller adopts what is seeded":        {who: s.user(controller), admin: []edit{recorded(mine, "alice")}, step: []edit{label(managedBy, "resources"), recorded(global, controller)}, refused: true},
		"the controller cleans up what is seeded":     {who: s.user(controller), admin: []edit{recorded(mine, "alice")}, step: []edit{unrecorded(mine)}},
		"a replication adopts what is seeded for it":  {who: s.as(t, worker, &local), admin: []edit{recorded(local, "alice")}, step: []edit{label(managedBy, "resources"), recorded(local, worker)}, refused: true},
		"a record of another object is none":          {who: s.user(controller), admin: []edit{copied(mine)}, step: []edit{label(managedBy, "resources"), recorded(global, controller)}},
		"a replication adopts a record of its own":    {who: s.as(t, worker, &local), admin: []edit{copied(local)}, step: []edit{label(managedBy, "resources"), recorded(local, worker)}},
		"a program that is let impersonate only some": {who: s.as(t, another, &mine), ours: []edit{label(managedBy, "resources"), recorded(local, worker)}, step: []edit{recorded(local, another)}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []string{"ConfigMap", "Widget v2", "ClusterRole"} {
				o := object(t, kinds[kind])
				name := s.cluster.Namespace(t)
				if kind == "ClusterRole" {
					o.SetName(name)
				} else {
					o.SetNamespace(name)
				}
				apply := func(c client.Client, edits []edit) error {
					for _, e := range edits {
						e(o)
					}
					if o.GetUID() == "" {
						return c.Create(t.Context(), o)
					}
					return c.Update(t.Context(), o)
				}
				if err := apply(s.admin, c.admin); err != nil {
					t.Fatal(err)
				}
				if len(c.ours) > 0 {
					if err := apply(s.user(controller), c.ours); err != nil {
						t.Fatal(err)
					}
				}
				verdict(t, apply(c.who, c.step), c.refused)
			}
		})
	}
}

// copied is a record of another object.
func copied(r mark.Replication) edit {
	return func(o *unstructured.Unstructured) {
		o.SetAnnotations(with(o.GetAnnotations(), r.Key(), r.Record("alice", "Deployment.apps/a/b")))
	}
}

// What is refused for an update is refused for a creation.
func TestForgedCreation(t *testing.T) {
	s := newStage(t)
	s.glass(t)
	owned := s.owned(t)
	for name, c := range map[string]struct {
		who     client.Client
		edits   []edit
		refused bool
	}{
		"a label":                     {s.user("alice"), []edit{label(managedBy, "resources")}, true},
		"a copy":                      {s.user("alice"), []edit{label(managedBy, "resources"), owned}, false},
		"a protected object":          {s.user("alice"), []edit{label(guarding, "true"), recorded(global, "alice")}, true},
		"a protected child":           {s.user("alice"), []edit{label(guarding, "true"), recorded(global, "alice"), owned}, true},
		"a backup that is restored":   {s.as(t, "alice", nil, "weir:break-glass"), []edit{label(guarding, "true"), recorded(global, controller)}, false},
		"the controller's":            {s.user(controller), []edit{label(guarding, "true"), recorded(global, controller)}, false},
		"the controller's as another": {s.as(t, worker, &local), []edit{label(guarding, "true"), recorded(local, worker)}, false},
		"another's as the controller": {s.as(t, "bob", nil, "system:serviceaccounts:weir-system"), []edit{label(guarding, "true"), recorded(global, "bob")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(t, kinds["Deployment"])
			o.SetNamespace(s.cluster.Namespace(t))
			for _, e := range c.edits {
				e(o)
			}
			verdict(t, c.who.Create(t.Context(), o), c.refused)
		})
	}
}

// An extra cannot be had by who may impersonate the account only, as whoever
// may edit a namespace does.
func TestExtraCannotBeForged(t *testing.T) {
	s := newStage(t)
	s.create(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: impersonator}
rules:
- {apiGroups: [""], resources: [serviceaccounts], verbs: [impersonate]}`)
	mallory := s.cluster.User(t, "mallory", "system:authenticated")
	s.grantUser(t, "impersonator", "mallory")
	mallory.Impersonate.UserName = worker
	o := object(t, kinds["ConfigMap"])
	o.SetNamespace(s.cluster.Namespace(t))
	s.awaitPass(t, connect(t, mallory), o)
	mallory.Impersonate.Extra = map[string][]string{mark.Extra: {local.String()}}
	protectFor(o, local, worker)
	err := connect(t, mallory).Create(t.Context(), o)
	if err == nil || isRefused(err) {
		t.Errorf("got %v, want that the API server forbids to impersonate", err)
	}
}
