package kind

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// tenant is the kind of what replications replicate into. Tenants are no work
// of Weir's, so there is nothing to ask for.
func tenant() Kind {
	return Kind{
		Resource:      v1beta2.GroupVersion.WithResource("tenants"),
		Singular:      "tenant",
		Short:         []string{"tnt"},
		ClusterScoped: true,
		Columns:       []Column{{Header: "STATE"}, {Header: "NAMESPACES"}, {Header: "AGE"}, {Header: "OWNERS", Wide: true}},
		Row:           tenantRow,
	}
}

func tenantRow(o *unstructured.Unstructured, now time.Time) ([]string, error) {
	var t v1beta2.Tenant
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &t); err != nil {
		return nil, fmt.Errorf("reading tenant %s: %w", path(o), err)
	}
	owners := make([]string, len(t.Spec.Owners))
	for i, owner := range t.Spec.Owners {
		owners[i] = string(owner.Kind) + "/" + owner.Name
	}
	return []string{
		cmp.Or(string(t.Status.State), "-"), strconv.FormatInt(t.Status.Size, 10), age(t.CreationTimestamp, now),
		listed(owners),
	}, nil
}
