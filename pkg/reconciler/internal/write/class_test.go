package write_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-dev/weir/pkg/reconciler/internal/write"
)

// What is not found may be an object, the place where it would be, or its whole
// kind.
func TestNotFound(t *testing.T) {
	reviews := schema.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}
	for name, c := range map[string]struct {
		err  error
		want write.Class
	}{
		"an object":   {apierrors.NewNotFound(reviews, "x"), write.Stale},
		"a namespace": {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "x"), write.Stale},
		"an answer":   {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Code: 404, Details: &metav1.StatusDetails{}}}, write.Untyped},
		"a path":      {apierrors.NewGenericServerResponse(404, "PATCH", reviews, "x", "404 page not found", 0, true), write.Untyped},
	} {
		if got := write.Classify(c.err); got != c.want {
			t.Errorf("%s: class %v, want %v", name, got, c.want)
		}
	}
}
