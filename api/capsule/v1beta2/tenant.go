package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// KindTenant is the kind of [Tenant].
const KindTenant = "Tenant"

// Tenant is a group of namespaces that belong together. A namespace is in a
// tenant by the label capsule.clastix.io/tenant or by an owner reference.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=tnt
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.state"
// +kubebuilder:printcolumn:name="Namespaces",type="integer",JSONPath=".status.size"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type Tenant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is who owns the tenant, and what templates may know of it.
	// +optional
	Spec TenantSpec `json:"spec,omitempty"`
	// Status is what the tenant controller last observed: Capsule's where
	// Capsule runs, else Weir's.
	// +optional
	Status TenantStatus `json:"status,omitempty"`
}

// TenantList is a list of [Tenant].
//
// +kubebuilder:object:root=true
type TenantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the tenants of the list.
	Items []Tenant `json:"items"`
}

// TenantSpec is the part of a tenant's spec that replications need. Other fields
// of Capsule's are kept.
//
// +kubebuilder:pruning:PreserveUnknownFields
type TenantSpec struct {
	// Owners are whom Capsule lets bring namespaces into the tenant; without
	// Capsule those may who have the verb join on it. Templates see them as
	// .tenant.spec.owners. Default: none.
	// +listType=atomic
	// +optional
	Owners []Owner `json:"owners,omitempty"`

	// Cordoned freezes the tenant for its users. Replications do not heed it.
	// Default: false.
	// +optional
	Cordoned bool `json:"cordoned,omitempty"`

	// Data is free for use in templates, as .tenant.spec.data. Default: none.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	Data *runtime.RawExtension `json:"data,omitempty"`
}

// Owner is a user, a group or a ServiceAccount that owns a tenant. Other fields
// of Capsule's are kept.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Owner struct {
	// Kind is User, Group or ServiceAccount.
	// +kubebuilder:validation:Enum=User;Group;ServiceAccount
	// +required
	Kind OwnerKind `json:"kind"`
	// Name of the owner; of a ServiceAccount system:serviceaccount:NAMESPACE:NAME.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
	// ClusterRoles are for Capsule, which binds them in the tenant's namespaces.
	// +listType=atomic
	// +optional
	ClusterRoles []string `json:"clusterRoles,omitempty"`
}

// OwnerKind is the kind of an [Owner].
type OwnerKind string

// The kinds of owners.
const (
	OwnerUser           OwnerKind = "User"
	OwnerGroup          OwnerKind = "Group"
	OwnerServiceAccount OwnerKind = "ServiceAccount"
)

// TenantState is how a tenant is.
//
// +kubebuilder:validation:Enum=Active;Cordoned;Terminating
type TenantState string

// The states of tenants.
const (
	TenantActive      TenantState = "Active"
	TenantCordoned    TenantState = "Cordoned"
	TenantTerminating TenantState = "Terminating"
)

// TenantStatus is the part of a tenant's status that replications need. Other
// fields of Capsule's are kept.
//
// +kubebuilder:pruning:PreserveUnknownFields
type TenantStatus struct {
	// State is Active, Cordoned or Terminating.
	// +optional
	State TenantState `json:"state,omitempty"`
	// Namespaces are the names of the tenant's namespaces, sorted.
	// +listType=atomic
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
	// Size is the number of namespaces.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +optional
	Size int64 `json:"size"`
}
