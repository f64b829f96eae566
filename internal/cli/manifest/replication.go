package manifest

import (
	"context"
	"fmt"
	"io"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// Replication is a TenantResource or GlobalTenantResource of a file.
type Replication struct {
	// Object is a *v1beta2.TenantResource or *v1beta2.GlobalTenantResource, without
	// status. A TenantResource may be without a namespace. It is nil where not even
	// the kind is known.
	Object client.Object
	// Invalid is what an API server would refuse it for, nil if nothing.
	Invalid error
}

// Replications reads the replications of the files that names lists, as [Load]
// does for generators.
func Replications(ctx context.Context, names []string, stdin io.Reader) ([]Replication, error) {
	l := &replications{kinds: map[string]bool{}, from: map[string]string{}}
	r := &reader{stdin: stdin, seen: map[string]bool{}, take: l.take, broken: func(place string, err error) {
		l.out = append(l.out, Replication{Invalid: invalid(place, err)})
	}}
	if err := r.all(ctx, names); err != nil {
		return nil, err
	}
	if len(l.out) == 0 {
		return nil, r.nothing(names, fmt.Sprintf("%s or %s of %s", v1beta2.KindTenantResource, v1beta2.KindGlobalTenantResource, v1beta2.GroupVersion), l.kinds)
	}
	return l.out, nil
}

type replications struct {
	kinds map[string]bool   // of the objects passed over
	from  map[string]string // where a replication stands, by kind and name
	out   []Replication
}

// take keeps an object if it is a replication.
func (l *replications) take(place string, doc []byte, h header) {
	var o Replication
	switch h.Kind {
	case v1beta2.KindTenantResource:
		o.Object = &v1beta2.TenantResource{}
	case v1beta2.KindGlobalTenantResource:
		o.Object = &v1beta2.GlobalTenantResource{}
	default:
		l.kinds[h.Kind] = true
		return
	}
	if err := l.read(place, doc, h, o.Object); err != nil {
		o.Invalid = invalid(place, err)
	}
	l.out = append(l.out, o)
}

func (l *replications) read(place string, doc []byte, h header, o client.Object) error {
	if h.APIVersion != v1beta2.GroupVersion.String() {
		return fmt.Errorf("apiVersion: %q is not known of a %s, want %s", h.APIVersion, h.Kind, v1beta2.GroupVersion)
	}
	if err := strictly(doc, o); err != nil {
		return err
	}
	switch o := o.(type) {
	case *v1beta2.TenantResource:
		o.Status = v1beta2.TenantResource{}.Status
	case *v1beta2.GlobalTenantResource:
		o.Status = v1beta2.GlobalTenantResource{}.Status
		o.Namespace = ""
	}
	if err := checkNames("a "+h.Kind, o.GetName(), o.GetNamespace()); err != nil {
		return err
	}
	key := h.Kind + "/" + o.GetNamespace() + "/" + o.GetName()
	if first, twice := l.from[key]; twice {
		return fmt.Errorf("the replication stands in %s too", first)
	}
	l.from[key] = place
	return nil
}
