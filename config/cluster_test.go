package config_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/testcluster"
)

var shared testcluster.Shared

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(shared.Run(m))
}

const namespace = "weir-system"

// installed is a cluster with config/default.
type installed struct {
	*testcluster.Cluster
	client.Client
	kubeconfig string
}

func install(t *testing.T) *installed {
	t.Helper()
	cluster := shared.Cluster(t)
	i := &installed{Cluster: cluster, kubeconfig: cluster.Kubeconfig(t, cluster.Admin())}
	var err error
	if i.Client, err = client.New(cluster.Admin(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	i.kubectl(t, "apply", "--server-side", "-k", "default")
	return i
}

func (i *installed) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(i.Bin(), "kubectl"), args...)
	cmd.Env = []string{"KUBECONFIG=" + i.kubeconfig, "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// deployment returns the Deployment of a variant, as kustomize builds it.
func (i *installed) deployment(t *testing.T, variant string) *appsv1.Deployment {
	t.Helper()
	for doc := range strings.SplitSeq(i.kubectl(t, "kustomize", variant), "\n---\n") {
		var d appsv1.Deployment
		if err := yaml.Unmarshal([]byte(doc), &d); err == nil && d.Kind == "Deployment" {
			return &d
		}
	}
	t.Fatalf("%s has no Deployment", variant)
	return nil
}

// Every variant can be applied, with a pod that a namespace for restricted ones
// lets in.
func TestVariantsAreAccepted(t *testing.T) {
	i := install(t)
	for _, variant := range []string{"default", "ha", "persistent", "artifacts", "capsule"} {
		out := i.kubectl(t, "apply", "--server-side", "--dry-run=server", "-k", variant)
		if strings.Contains(out, "Warning") {
			t.Errorf("%s: %s", variant, out)
		}
		d := i.deployment(t, variant)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "try", Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
		if err := i.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
			t.Errorf("%s: %v", variant, err)
		}
		pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = ptr.To(true)
		if err := i.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("%s: a pod that may gain privileges is let in: %v", variant, err)
		}
		c := d.Spec.Template.Spec.Containers[0]
		if !*c.SecurityContext.ReadOnlyRootFilesystem || c.LivenessProbe == nil || c.ReadinessProbe == nil || c.Resources.Requests == nil {
			t.Errorf("%s: the container is not as it should be: %+v", variant, c)
		}
	}
	if d := i.deployment(t, "ha"); *d.Spec.Replicas < 2 || !strings.Contains(strings.Join(d.Spec.Template.Spec.Containers[0].Args, " "), "--enable-leader-election") ||
		d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		t.Errorf("replicas without an election: %+v", d.Spec)
	}
	// Two pods cannot have the disk.
	if d := i.deployment(t, "persistent"); d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || *d.Spec.Replicas != 1 {
		t.Errorf("the persistent variant rolls: %+v", d.Spec.Strategy)
	}
}

// Nobody has to trust the program not to read Secrets.
func TestSecretsAreOutOfReach(t *testing.T) {
	i := install(t)
	for _, resource := range []string{"secrets", "configmaps"} {
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete"} {
			for _, in := range []string{"", namespace, "default"} {
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User:               "system:serviceaccount:" + namespace + ":weir-controller",
					Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
					ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Namespace: in},
				}}
				if err := i.Create(t.Context(), review); err != nil {
					t.Fatal(err)
				}
				// Records of replications are ConfigMaps of its own namespace.
				record := resource == "configmaps" && in == namespace && slices.Contains([]string{"list", "create", "update", "delete"}, verb)
				if review.Status.Allowed != record {
					t.Errorf("that the controller may %s %s in %q is %t", verb, resource, in, review.Status.Allowed)
				}
			}
		}
	}
}
