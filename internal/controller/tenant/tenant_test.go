package tenant_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/tenant"
)

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func in(tenant string) map[string]string { return map[string]string{v1beta2.LabelTenant: tenant} }

func TestStatus(t *testing.T) {
	for name, c := range map[string]struct {
		mode    tenant.Mode
		capsule bool
		edit    func(*v1beta2.Tenant)
		want    v1beta2.TenantStatus
		writes  int
	}{
		"namespaces": {edit: func(*v1beta2.Tenant) {}, want: v1beta2.TenantStatus{State: "Active", Namespaces: []string{"a", "b", "owned"}, Size: 3}, writes: 1},
		"cordoned":   {edit: func(t *v1beta2.Tenant) { t.Spec.Cordoned = true }, want: v1beta2.TenantStatus{State: "Cordoned", Namespaces: []string{"a", "b", "owned"}, Size: 3}, writes: 1},
		"nothing changed": {edit: func(t *v1beta2.Tenant) {
			t.Status = v1beta2.TenantStatus{State: "Active", Namespaces: []string{"a", "b", "owned"}, Size: 3}
		}, want: v1beta2.TenantStatus{State: "Active", Namespaces: []string{"a", "b", "owned"}, Size: 3}},
		"off":             {mode: tenant.Off, edit: func(*v1beta2.Tenant) {}},
		"with Capsule":    {capsule: true, edit: func(*v1beta2.Tenant) {}},
		"on with Capsule": {mode: tenant.On, capsule: true, edit: func(*v1beta2.Tenant) {}, want: v1beta2.TenantStatus{State: "Active", Namespaces: []string{"a", "b", "owned"}, Size: 3}, writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			te := &v1beta2.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "solar", UID: "1"}}
			c.edit(te)
			owned := namespace("owned", nil)
			owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "Tenant", Name: "solar", UID: "1"}}
			torn := namespace("torn", in("solar"))
			torn.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "Tenant", Name: "oil", UID: "2"}}
			writes := 0
			cl := newClient(t, c.capsule, &writes, te, owned, torn,
				namespace("b", in("solar")), namespace("a", in("solar")), namespace("kube-system", in("solar")), namespace("other", in("oil")))
			r := &tenant.Reconciler{Cache: cl, Direct: cl, Mode: c.mode}
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "solar"}}); err != nil {
				t.Fatal(err)
			}
			var got v1beta2.Tenant
			if err := cl.Get(t.Context(), client.ObjectKey{Name: "solar"}, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Status); diff != "" || writes != c.writes {
				t.Errorf("%d writes, want %d (-want +got):\n%s", writes, c.writes, diff)
			}
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "gone"}}); err != nil {
				t.Errorf("a tenant that is gone: %v", err)
			}
		})
	}
}

// newClient returns an API server that has the objects, and Capsule if asked.
func newClient(t *testing.T, capsule bool, writes *int, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1beta2.GroupVersion})
	mapper.Add(v1beta2.GroupVersion.WithKind("Tenant"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	if capsule {
		mapper.Add(v1beta2.GroupVersion.WithKind("CapsuleConfiguration"), meta.RESTScopeRoot)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).WithStatusSubresource(&v1beta2.Tenant{}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				*writes++
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
}

func TestMode(t *testing.T) {
	var m tenant.Mode
	if m.String() != "auto" {
		t.Errorf("the default is %s", &m)
	}
	for text, fine := range map[string]bool{"auto": true, "on": true, "off": true, "": false, "maybe": false} {
		if err := m.Set(text); (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
	}
}
