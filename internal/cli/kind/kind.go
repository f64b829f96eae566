// Package kind is the kinds of objects that commands name: what they are
// called, what a table shows of them and how they are suspended. It talks to
// nobody.
package kind

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object.
type Kind struct {
	Resource schema.GroupVersionResource
	Singular string
	Short    []string
	// ClusterScoped says that its objects are in no namespace.
	ClusterScoped bool

	// Columns are those of a table, beside namespace and name.
	Columns []Column
	// Row returns the cells of an object, one a column.
	Row func(o *unstructured.Unstructured, now time.Time) ([]string, error)

	// Request is the annotation that asks for a reconciliation whenever its value
	// changes. Without one objects are only shown, and the fields below are zero;
	// with one they have the conditions of kstatus.
	Request string
	// Handled reports whether the controller has acted on the request with this
	// value.
	Handled func(o *unstructured.Unstructured, value string) bool
	// Suspended reports whether an object is left alone by its controller.
	Suspended func(o *unstructured.Unstructured) bool
	// Suspend and Resume make it so, and end it.
	Suspend, Resume Change
}

// Change is what a command changes of an object: annotations and fields of the
// spec. Those with the value nil are taken off.
type Change struct{ Annotations, Spec map[string]any }

// Asking returns the change with a request of this value for a reconciliation.
func (k Kind) Asking(c Change, value string) Change {
	annotations := map[string]any{k.Request: value}
	maps.Copy(annotations, c.Annotations)
	return Change{annotations, c.Spec}
}

// Column is a column of a table.
type Column struct {
	Header string
	// Wide columns are shown when a wide table is asked for.
	Wide bool
	// Long columns are cut, unless a wide table is asked for.
	Long bool
}

// All returns every kind.
func All() []Kind {
	return []Kind{artifactGenerator(), globalTenantResource(), tenantResource(), tenant()}
}

// Find returns the kind that the name means, in any case: the plural, the
// singular, a short name, or the plural or singular followed by the group. The
// error lists what there is.
func Find(name string) (Kind, error) {
	lower := strings.ToLower(name)
	for _, k := range All() {
		if slices.Contains(k.names(), lower) {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("unknown kind %q; known are %s", name, List())
}

// List names all kinds, for a sentence.
func List() string {
	var out []string
	for _, k := range All() {
		out = append(out, fmt.Sprintf("%s (%s)", k.Resource.Resource, strings.Join(k.Short, ", ")))
	}
	return strings.Join(out, ", ")
}

func (k Kind) names() []string {
	out := append([]string{k.Resource.Resource, k.Singular}, k.Short...)
	for _, n := range []string{k.Resource.Resource, k.Singular} {
		out = append(out, n+"."+k.Resource.Group, n+"."+k.Resource.Version+"."+k.Resource.Group)
	}
	return out
}

// Title is how one object is called in messages.
func (k Kind) Title(name string) string { return k.Singular + "/" + name }
