// Package v1beta2 is the API group capsule.clastix.io: the replications
// TenantResource and GlobalTenantResource, and of Tenant what replications need
// of it. It holds no behaviour beyond reading its own fields; what a field means
// to the engine is decided in the packages that use it.
//
// Objects of Capsule decode into these types. Fields of a Tenant that
// replications do not need are kept by the API server and not seen here.
//
// +kubebuilder:object:generate=true
// +groupName=capsule.clastix.io
package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "capsule.clastix.io", Version: "v1beta2"}

// AddToScheme registers the kinds and their lists.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Tenant{}, &TenantList{},
		&TenantResource{}, &TenantResourceList{},
		&GlobalTenantResource{}, &GlobalTenantResourceList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
