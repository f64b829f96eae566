package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/internal/testforge"
)

// pushTimeout is for source-controller to get what was pushed.
const pushTimeout = 60 * time.Second

func (s *script) push(c call) error {
	if s.flux == nil {
		return errNoFlux
	}
	if len(c.args) != 3 {
		return fmt.Errorf("%w: push KIND NS/NAME DIR", errUsage)
	}
	of, err := key(c.args[1])
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return s.flux.push(s.ctx, s.client, c.args[0], of, c.path(c.args[2]))
}

// push pushes the directory to where the source of the kind has it from, makes
// the source when it is missing, and returns when it has what was pushed.
func (f *flux) push(ctx context.Context, c client.Client, kind string, of types.NamespacedName, dir string) error {
	spec, revision, err := f.forge.Upload(ctx, kind, of.String(), dir)
	if errors.Is(err, testforge.ErrKind) {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if err != nil {
		return err
	}
	spec["interval"] = "1h" // nobody waits for it: every push asks for a fetch
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: of.Namespace}}
	if err := c.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	source := object(kind, of.Namespace, of.Name)
	source.Object["spec"] = spec
	if err := c.Create(ctx, source); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if kind == "HelmRepository" {
		return nil // source-controller leaves one of type oci alone
	}
	return fetched(ctx, c, source, revision)
}

// fetched asks source-controller to look at the source, and returns when it has
// and the source is ready with the revision.
func fetched(ctx context.Context, c client.Client, source *unstructured.Unstructured, revision string) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	token := time.Now().Format(time.RFC3339Nano)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, token)
	if err := c.Patch(ctx, source, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	return await(ctx, func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return err
		}
		handled, _, _ := unstructured.NestedString(source.Object, "status", "lastHandledReconcileAt")
		has, _, _ := unstructured.NestedString(source.Object, "status", "artifact", "revision")
		conditions, _, _ := unstructured.NestedSlice(source.Object, "status", "conditions")
		if handled != token || !strings.Contains(has, revision) || !isTrue(conditions, "Ready") {
			return fmt.Errorf("%s %q does not get %q: %v", source.GetKind(), client.ObjectKeyFromObject(source), revision, conditions)
		}
		return nil
	})
}

func isTrue(conditions []any, kind string) bool {
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return c["status"] == "True"
		}
	}
	return false
}
