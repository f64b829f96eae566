package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// namespaces compares what weir build shows with what the controller has made.
func (s *script) namespaces(c call) error {
	if len(c.args) != 1 {
		return fmt.Errorf("%w: namespaces REPORT", errUsage)
	}
	data, err := os.ReadFile(c.path(c.args[0]))
	if err != nil {
		return err
	}
	var report struct {
		Namespaces []struct {
			Name                string
			Labels, Annotations map[string]string
		}
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return err
	}
	if len(report.Namespaces) == 0 {
		return errors.New("the report has no namespaces")
	}
	for _, want := range report.Namespaces {
		var is corev1.Namespace
		if err := s.client.Get(s.ctx, types.NamespacedName{Name: want.Name}, &is); err != nil {
			return err
		}
		if is.Labels[v1beta1.LabelGenerator] == "" {
			return fmt.Errorf("namespace %s has no generator", is.Name)
		}
		// Only a cluster knows these.
		delete(is.Labels, v1beta1.LabelGenerator)
		delete(is.Labels, corev1.LabelMetadataName)
		delete(is.Annotations, "weir.dev/digest")
		if len(is.Annotations) == 0 {
			is.Annotations = nil
		}
		if diff := cmp.Diff(want.Labels, is.Labels) + cmp.Diff(want.Annotations, is.Annotations); diff != "" {
			return fmt.Errorf("namespace %s (-weir build +controller):\n%s", is.Name, diff)
		}
	}
	return nil
}
