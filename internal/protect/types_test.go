package protect_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/protect"
)

var update = flag.Bool("update", false, "rewrite what is wanted")

func guards(p protect.Policies) []protect.Guard {
	return []protect.Guard{p.Targets(), p.Tracking(), p.Membership(), p.Generators()}
}

// The policies as a reviewer wants to read them, and as they must not change
// unseen.
func TestPolicies(t *testing.T) {
	var text strings.Builder
	for _, g := range guards(policies) {
		objects := []runtime.Object{g.Policy}
		for _, b := range g.Bindings {
			objects = append(objects, b)
		}
		for _, o := range objects {
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				t.Fatal(err)
			}
			delete(fields, "status")
			data, err := yaml.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString("---\n" + string(data))
		}
	}
	file := filepath.Join("testdata", "policies.yaml")
	if *update {
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The API server stores the policies as they are, so that who keeps them can
// tell whether somebody has changed them.
func TestDefaultsAreComplete(t *testing.T) {
	s := newStage(t)
	for _, g := range guards(policies) {
		live := &v1.ValidatingAdmissionPolicy{}
		if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(g.Policy), live); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(g.Policy.Spec, live.Spec); diff != "" {
			t.Errorf("%s (-sent +stored):\n%s", g.Policy.Name, diff)
		}
		for _, b := range g.Bindings {
			live := &v1.ValidatingAdmissionPolicyBinding{}
			if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(b), live); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(b.Spec, live.Spec); diff != "" {
				t.Errorf("%s (-sent +stored):\n%s", b.Name, diff)
			}
		}
	}
}

// Kubernetes' own type checker has nothing to say. It gives up on rules for
// every kind, so it is asked about some.
func TestTypes(t *testing.T) {
	s := newStage(t)
	s.controllers(t, "validatingadmissionpolicy-status-controller")
	names := []string{}
	for _, capsule := range []bool{false, true} {
		p := policies
		p.Capsule = capsule
		for _, g := range guards(p) {
			policy := g.Policy.DeepCopy()
			policy.GenerateName, policy.Name = policy.Name+"-types-", ""
			rules := policy.Spec.MatchConstraints.ResourceRules
			if rule := &rules[0].Rule; slices.Contains(rule.APIGroups, "*") {
				rule.APIGroups, rule.APIVersions = []string{"", "apps", "rbac.authorization.k8s.io"}, []string{"v1"}
				rule.Resources = []string{"configmaps", "deployments", "clusterroles", "namespaces"}
			} else {
				rule.APIGroups, rule.APIVersions = []string{""}, []string{"v1"}
			}
			if err := s.admin.Create(t.Context(), policy); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.admin.Delete(context.Background(), policy) })
			names = append(names, policy.Name)
		}
	}
	for _, g := range guards(policies) {
		names = append(names, g.Policy.Name)
	}
	wrong := &v1.ValidatingAdmissionPolicy{}
	*wrong = *policies.Generators().Policy
	wrong.Name = "wrong"
	wrong.Spec.MatchConstraints.ResourceRules[0].Rule = v1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"namespaces"}}
	wrong.Spec.Validations[0].Expression = "object.metadata.nothing == 1"
	if err := s.admin.Create(t.Context(), wrong); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.admin.Delete(context.Background(), wrong) })
	for _, name := range append(names, wrong.Name) {
		policy := &v1.ValidatingAdmissionPolicy{}
		policy.Name = name
		s.await(t, func(ctx context.Context) error {
			if err := s.admin.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
				return err
			}
			if policy.Status.ObservedGeneration != policy.Generation || policy.Status.TypeChecking == nil {
				return errors.New("its types have not been checked yet")
			}
			return nil
		})
		if warnings := policy.Status.TypeChecking.ExpressionWarnings; (len(warnings) > 0) != (name == wrong.Name) {
			t.Errorf("%s: %v", name, warnings)
		}
	}
}
