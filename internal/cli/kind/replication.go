package kind

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

func globalTenantResource() Kind {
	k := replication("globaltenantresource", "gtr")
	k.ClusterScoped = true
	return k
}

func tenantResource() Kind { return replication("tenantresource", "tr") }

// replication is what both kinds of replications have in common. The columns
// that are not wide are those of kubectl get.
func replication(singular, short string) Kind {
	return Kind{
		Resource: v1beta2.GroupVersion.WithResource(singular + "s"),
		Singular: singular,
		Short:    []string{short},
		Columns: []Column{
			{Header: "ITEMS"}, {Header: "FAILED", Wide: true}, {Header: "SKIPPED", Wide: true}, {Header: "READY"},
			{Header: "STATUS", Long: true}, {Header: "AGE"}, {Header: "TENANTS", Wide: true}, {Header: "ACCOUNT", Wide: true},
			{Header: "REASON", Wide: true},
		},
		Row: func(o *unstructured.Unstructured, now time.Time) ([]string, error) {
			// A TenantResource is the same, but for what only the other kind has.
			var g v1beta2.GlobalTenantResource
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &g); err != nil {
				return nil, fmt.Errorf("reading %s %s: %w", singular, path(o), err)
			}
			return replicationRow(&g, now), nil
		},
		Request: v1beta2.AnnotationRequestedAt,
		// The annotation is taken off by the pass that acts on it. Another request
		// that has replaced it meanwhile is answered later, and both with it.
		Handled: func(o *unstructured.Unstructured, _ string) bool {
			return o.GetAnnotations()[v1beta2.AnnotationRequestedAt] == ""
		},
		Suspended: func(o *unstructured.Unstructured) bool {
			cordoned, _, _ := unstructured.NestedBool(o.Object, "spec", "cordoned")
			return cordoned
		},
		Suspend: Change{Spec: map[string]any{"cordoned": true}},
		Resume:  Change{Spec: map[string]any{"cordoned": false}},
	}
}

func replicationRow(g *v1beta2.GlobalTenantResource, now time.Time) []string {
	var n v1beta2.Counts
	if g.Status.Counts != nil {
		n = *g.Status.Counts
	}
	account := "-"
	if a := g.Status.ServiceAccount; a != nil {
		account = a.Namespace + "/" + a.Name
	}
	r := replicationReady(g)
	return []string{
		strconv.FormatInt(g.Status.Size, 10), strconv.FormatInt(n.Failed, 10), strconv.FormatInt(n.Skipped, 10), string(r.Status),
		r.Message, age(g.CreationTimestamp, now), listed(g.Status.SelectedTenants), account, r.Reason,
	}
}

// replicationReady returns the condition Ready. That of one that is suspended
// is about the spec before, and stays.
func replicationReady(g *v1beta2.GlobalTenantResource) metav1.Condition {
	if !g.Spec.Cordoned || g.DeletionTimestamp != nil {
		return readiness(g.Status.Conditions, &g.ObjectMeta)
	}
	r := readiness(g.Status.Conditions, &metav1.ObjectMeta{})
	r.Message = "cordoned; before: " + r.Message
	return r
}

// path is the name of an object, with its namespace if it has one.
func path(o *unstructured.Unstructured) string {
	return strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
}

// listed joins words, "-" for none.
func listed(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ",")
}
