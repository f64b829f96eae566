package record

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// Owner is a replication that has a record.
type Owner struct {
	Kind      string
	Namespace string // empty for a GlobalTenantResource
	Name      string
	UID       types.UID
}

// OwnerOf returns a replication of that kind as the owner of its record.
func OwnerOf(kind string, o metav1.Object) Owner {
	return Owner{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}
}

// String returns what shards call the owner: KIND/NAMESPACE/NAME/UID.
func (o Owner) String() string {
	return strings.Join([]string{o.Kind, o.Namespace, o.Name, string(o.UID)}, "/")
}

// parseOwner is the inverse of [Owner.String].
func parseOwner(s string) (Owner, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 || parts[3] == "" {
		return Owner{}, fmt.Errorf("%q is no owner of the form KIND/NAMESPACE/NAME/UID", s)
	}
	return Owner{Kind: parts[0], Namespace: parts[1], Name: parts[2], UID: types.UID(parts[3])}, nil
}

// decorate has a shard go with its owner. A TenantResource cannot own what is in
// another namespace.
func decorate(owner string, shard *unstructured.Unstructured) {
	o, err := parseOwner(owner)
	if err != nil || o.Kind != v1beta2.KindGlobalTenantResource {
		return
	}
	shard.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1beta2.GroupVersion.String(), Kind: o.Kind, Name: o.Name, UID: o.UID,
	}})
}
