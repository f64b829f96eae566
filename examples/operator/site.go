// +kubebuilder:object:generate=true
package main

import (
	"bytes"
	_ "embed"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/pkg/reconciler"
)

// Site is a web site of one page.
//
// +kubebuilder:object:root=true
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// Spec is what a site shows, and how.
type Spec struct {
	Title    string `json:"title"`
	Image    string `json:"image"`
	Replicas int    `json:"replicas"`
}

// Status is how a site is and what was made for it.
type Status struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Inventory  []byte             `json:"inventory,omitempty"`
}

// SiteList is several sites.
//
// +kubebuilder:object:root=true
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Site `json:"items"`
}

//go:embed dependents.yaml
var manifests string

// dependents returns the objects that make up the site.
func dependents(s *Site) ([]reconciler.Object, error) {
	var text bytes.Buffer
	if err := template.Must(template.New("").Parse(manifests)).Execute(&text, s); err != nil {
		return nil, err
	}
	var objects []reconciler.Object
	for doc := range bytes.SplitSeq(text.Bytes(), []byte("\n---\n")) {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &u.Object); err != nil {
			return nil, err
		}
		objects = append(objects, reconciler.Object{Manifest: u})
	}
	return objects, nil
}
