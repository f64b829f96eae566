package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KindTenantResource is the kind of [TenantResource].
const KindTenantResource = "TenantResource"

// TenantResource keeps objects in the namespaces of the tenant that its own
// namespace belongs to, that one included. It never leaves that tenant.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=tr
// +kubebuilder:printcolumn:name="Items",type="integer",JSONPath=".status.size"
// +kubebuilder:printcolumn:name="Failed",type="integer",priority=1,JSONPath=".status.counts.failed"
// +kubebuilder:printcolumn:name="Skipped",type="integer",priority=1,JSONPath=".status.counts.skipped"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type TenantResource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what to keep where.
	// +required
	Spec TenantResourceSpec `json:"spec"`
	// Status is what the controller last observed. It is written by the
	// controller alone.
	// +optional
	Status TenantResourceStatus `json:"status,omitempty"`
}

// TenantResourceList is a list of [TenantResource].
//
// +kubebuilder:object:root=true
type TenantResourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the replications of the list.
	Items []TenantResource `json:"items"`
}

// TenantResourceSpec is what to keep where.
type TenantResourceSpec struct {
	ReplicationSpec `json:",inline"`

	// ServiceAccount, of the replication's own namespace, is who reads sources
	// and writes targets. Default: the controller's default for TenantResources,
	// if it has one, in the replication's namespace, or else the controller
	// itself.
	// +optional
	ServiceAccount *Account `json:"serviceAccount,omitempty"`
}

// Account names a ServiceAccount of the replication's own namespace.
type Account struct {
	// Name of the ServiceAccount.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	Name string `json:"name"`
}

// TenantResourceStatus is what the controller last observed.
type TenantResourceStatus struct {
	ReplicationStatus `json:",inline"`
}

// GetConditions returns the conditions of the status.
func (r *TenantResource) GetConditions() []metav1.Condition { return r.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (r *TenantResource) SetConditions(c []metav1.Condition) { r.Status.Conditions = c }
