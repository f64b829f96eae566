package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KindGlobalTenantResource is the kind of [GlobalTenantResource].
const KindGlobalTenantResource = "GlobalTenantResource"

// GlobalTenantResource keeps objects in the namespaces of many tenants.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=gtr
// +kubebuilder:printcolumn:name="Items",type="integer",JSONPath=".status.size"
// +kubebuilder:printcolumn:name="Failed",type="integer",priority=1,JSONPath=".status.counts.failed"
// +kubebuilder:printcolumn:name="Skipped",type="integer",priority=1,JSONPath=".status.counts.skipped"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type GlobalTenantResource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what to keep where.
	// +required
	Spec GlobalTenantResourceSpec `json:"spec"`
	// Status is what the controller last observed. It is written by the
	// controller alone.
	// +optional
	Status GlobalTenantResourceStatus `json:"status,omitempty"`
}

// GlobalTenantResourceList is a list of [GlobalTenantResource].
//
// +kubebuilder:object:root=true
type GlobalTenantResourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the replications of the list.
	Items []GlobalTenantResource `json:"items"`
}

// Scope is how often the blocks of a GlobalTenantResource are rendered.
//
// +kubebuilder:validation:Enum=Namespace;Tenant;None
type Scope string

const (
	// ScopeNamespace renders once for each selected namespace.
	ScopeNamespace Scope = "Namespace"
	// ScopeTenant renders once for each selected tenant.
	ScopeTenant Scope = "Tenant"
	// ScopeNone renders once.
	ScopeNone Scope = "None"
)

// GlobalTenantResourceSpec is what to keep where.
type GlobalTenantResourceSpec struct {
	ReplicationSpec `json:",inline"`

	// Scope is Namespace, Tenant or None: how often the blocks are rendered.
	// namespacedItems need the scope Namespace; others ignore them. Default:
	// Namespace.
	// +kubebuilder:default=Namespace
	// +optional
	Scope Scope `json:"scope,omitempty"`

	// TenantSelector selects tenants by their labels. Default: all tenants.
	// +optional
	TenantSelector metav1.LabelSelector `json:"tenantSelector,omitempty"`

	// ServiceAccount is who reads sources and writes targets. Default: the
	// controller's default for GlobalTenantResources, if it has one, or else the
	// controller itself.
	// +optional
	ServiceAccount *GlobalAccount `json:"serviceAccount,omitempty"`
}

// GlobalAccount names a ServiceAccount.
type GlobalAccount struct {
	// Name of the ServiceAccount.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	Name string `json:"name"`
	// Namespace of the ServiceAccount.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	Namespace string `json:"namespace"`
}

// GlobalTenantResourceStatus is what the controller last observed.
type GlobalTenantResourceStatus struct {
	ReplicationStatus `json:",inline"`

	// SelectedTenants are the names of the tenants that match and are not being
	// deleted, sorted. None of their namespaces may match.
	// +listType=atomic
	// +optional
	SelectedTenants []string `json:"selectedTenants,omitempty"`
}

// GetConditions returns the conditions of the status.
func (r *GlobalTenantResource) GetConditions() []metav1.Condition { return r.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (r *GlobalTenantResource) SetConditions(c []metav1.Condition) { r.Status.Conditions = c }
