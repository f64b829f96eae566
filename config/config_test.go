// Package config_test holds the manifests to the API and to the program.
package config_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/app"
)

// folders are what is installed, beside the generated CRDs: config/default, and
// the variants of it.
var folders = []string{"default", "manager", "rbac", "ha", "persistent", "artifacts", "capsule"}

// objects decodes all manifests, and refuses fields that the API does not know.
func objects(t *testing.T) []runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var out []runtime.Object
	for _, dir := range folders {
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
			for {
				doc, err := documents.Read()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				o, _, err := decoder.Decode(doc, nil, nil)
				if err != nil {
					t.Errorf("%s: %v", file, err)
					continue
				}
				out = append(out, o)
			}
		}
	}
	return out
}

func find[T runtime.Object](t *testing.T) T {
	t.Helper()
	for _, o := range objects(t) {
		if found, ok := o.(T); ok {
			return found
		}
	}
	t.Fatalf("there is no %T", *new(T))
	panic("unreachable")
}

// Every manifest is listed, and what is listed is there.
func TestKustomizationsAreWhole(t *testing.T) {
	for _, dir := range folders {
		data, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var k struct{ Resources []string }
		if err := sigsyaml.Unmarshal(data, &k); err != nil {
			t.Fatal(err)
		}
		for _, r := range k.Resources {
			if _, err := os.Stat(filepath.Join(dir, r)); err != nil {
				t.Errorf("%s: %v", dir, err)
			}
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if base := filepath.Base(f); base != "kustomization.yaml" && !slices.Contains(k.Resources, base) {
				t.Errorf("%s is not in its kustomization", f)
			}
		}
	}
}

// The Deployment runs the program with flags that it has, and sends requests
// where it listens.
func TestDeploymentFitsTheProgram(t *testing.T) {
	d := find[*appsv1.Deployment](t)
	pod := d.Spec.Template.Spec
	var c app.Config
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(fs, func(string) string { return "" })
	if err := fs.Parse(pod.Containers[0].Args); err != nil || fs.NArg() > 0 {
		t.Errorf("arguments %q: %v", pod.Containers[0].Args, err)
	}
	ports := map[string]int32{}
	for _, p := range pod.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	if ports["artifacts"] != 9090 || c.Storage.Addr != ":9090" || ports["healthz"] != 9440 || c.HealthAddr != ":9440" ||
		ports["http-prom"] != 8080 || c.MetricsAddr != ":8080" {
		t.Errorf("ports %v, but the program listens on %s, %s and %s", ports, c.Storage.Addr, c.HealthAddr, c.MetricsAddr)
	}
	selectors := map[string]map[string]string{
		"Service":             find[*corev1.Service](t).Spec.Selector,
		"NetworkPolicy":       find[*networkingv1.NetworkPolicy](t).Spec.PodSelector.MatchLabels,
		"PodDisruptionBudget": find[*policyv1.PodDisruptionBudget](t).Spec.Selector.MatchLabels,
	}
	for kind, selector := range selectors {
		if !labels.SelectorFromSet(selector).Matches(labels.Set(d.Spec.Template.Labels)) || len(selector) == 0 {
			t.Errorf("the %s selects %v", kind, selector)
		}
	}
	for _, rule := range find[*networkingv1.NetworkPolicy](t).Spec.Ingress {
		for _, p := range rule.Ports {
			if ports[p.Port.StrVal] == 0 {
				t.Errorf("the NetworkPolicy opens port %v, which the pod does not have", p.Port)
			}
		}
	}
	if account := find[*corev1.ServiceAccount](t); pod.ServiceAccountName != account.Name {
		t.Errorf("the pod runs as %q", pod.ServiceAccountName)
	}
}

// No rule grants everything, and none to the controller what it has no use for.
func TestRolesAreNarrow(t *testing.T) {
	for _, o := range objects(t) {
		var rules []rbacv1.PolicyRule
		var name string
		switch r := o.(type) {
		case *rbacv1.ClusterRole:
			name, rules = r.Name, r.Rules
		case *rbacv1.Role:
			name, rules = r.Name, r.Rules
		}
		for _, r := range rules {
			if slices.Contains(slices.Concat(r.Verbs, r.Resources, r.APIGroups), "*") {
				t.Errorf("rule %v has a wildcard", r)
			}
			if strings.HasPrefix(name, "weir-replicator") {
				continue // content is its purpose
			}
			// Records are ConfigMaps of the controller's own namespace.
			_, own := o.(*rbacv1.Role)
			if slices.Contains(r.Resources, "secrets") || slices.Contains(r.Resources, "configmaps") && (!own || name != "weir-controller-records") {
				t.Errorf("rule %v: nothing reads that", r)
			}
		}
	}
}
