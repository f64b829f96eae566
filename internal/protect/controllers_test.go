package protect_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/child"
	"github.com/weir-dev/weir/internal/protect/mark"
	"github.com/weir-dev/weir/internal/testcluster"
)

// controllers runs controllers of Kubernetes that the test cluster does without.
func (s *stage) controllers(t *testing.T, names ...string) {
	t.Helper()
	group := child.NewGroup()
	t.Cleanup(func() {
		if err := group.Stop(); err != nil {
			t.Error(err)
		}
	})
	_, err := group.Start(filepath.Join(s.cluster.Bin(), "kube-controller-manager"), t.TempDir(),
		"--kubeconfig="+s.cluster.Kubeconfig(t, s.cluster.Admin()),
		"--controllers="+strings.Join(names, ","),
		"--use-service-account-credentials", "--leader-elect=false", "--secure-port=0")
	if err != nil {
		t.Fatal(err)
	}
}

// awaitOne returns the first object that the list has in the namespace.
func (s *stage) awaitOne(t *testing.T, apiVersion, kind, namespace string) *unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersion)
	list.SetKind(kind + "List")
	s.await(t, func(ctx context.Context) error {
		if err := s.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return errors.New("there is no " + kind)
		}
		return nil
	})
	return &list.Items[0]
}

// A protected Deployment rolls out: its controller writes the status and makes
// ReplicaSets.
func TestDeploymentRolls(t *testing.T) {
	s := newStage(t)
	s.controllers(t, "deployment-controller", "replicaset-controller")
	o := s.protected(t, "Deployment", map[mark.Replication]string{local: worker})
	s.awaitOne(t, "apps/v1", "ReplicaSet", o.GetNamespace())
	s.await(t, func(ctx context.Context) error {
		if err := s.admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		seen, _, err := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if err == nil && seen != o.GetGeneration() {
			err = errors.New("the Deployment's status is not written yet")
		}
		return err
	})
	verdict(t, requests["patch"](t.Context(), s.user("alice"), o), true)
}

// A protected Service gets its endpoints, on which Kubernetes puts the labels of
// the Service; they are not protected.
func TestServiceGetsEndpoints(t *testing.T) {
	s := newStage(t)
	s.controllers(t, "endpoints-controller", "endpointslice-controller")
	o := object(t, `{apiVersion: v1, kind: Service, metadata: {name: guarded}, spec: {selector: {app: x}, ports: [{port: 80}]}}`)
	o.SetNamespace(s.cluster.Namespace(t))
	protectFor(o, local, worker)
	if err := s.user(controller).Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for apiVersion, kind := range map[string]string{"v1": "Endpoints", "discovery.k8s.io/v1": "EndpointSlice"} {
		made := s.awaitOne(t, apiVersion, kind, o.GetNamespace())
		if _, ok := made.GetLabels()["protection.projectcapsule.dev/replications"]; !ok {
			t.Errorf("the %s has not the labels of the Service: %v", kind, made.GetLabels())
		}
		verdict(t, requests["patch"](t.Context(), s.user("alice"), made), false)
		verdict(t, requests["delete"](t.Context(), s.user("alice"), made), false)
	}
}

// The garbage collector is refused like anybody else: an object outlives the
// owner that somebody has given it.
func TestGarbageIsNotCollected(t *testing.T) {
	s := newStage(t)
	namespace := s.cluster.Namespace(t)
	owner := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: owner, namespace: `+namespace+`}}`)
	if err := s.admin.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	o := object(t, kinds["ConfigMap"])
	o.SetNamespace(namespace)
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.GetUID()}})
	protectFor(o, local, worker)
	if err := s.user(controller).Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	audit := s.cluster.Audit(t)
	if err := s.admin.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	collector := testcluster.Query{User: "system:serviceaccount:kube-system:generic-garbage-collector", Verb: "delete", Namespace: namespace}
	s.await(t, func(context.Context) error {
		tries := audit.Events(t, collector)
		if len(tries) == 0 {
			return errors.New("the garbage collector has not tried yet")
		}
		if tries[0].Code != http.StatusForbidden {
			t.Errorf("the garbage collector's deletion got %d", tries[0].Code)
		}
		return nil
	})
}
