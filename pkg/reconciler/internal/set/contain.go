package set

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// contain checks that what is inside a namespace or of a kind of the set is
// applied no earlier and deleted no later than its container.
func (b *builder) contain() {
	spaces := map[string]*Want{}
	services := map[schema.GroupVersion]*Want{}
	for _, w := range b.wants {
		switch {
		case w.IsNamespace():
			spaces[w.Name] = w
		case w.GroupKind() == object.APIService:
			services[schema.GroupVersion{Group: w.Types[0].Group, Version: version(w)}] = w
		}
	}
	if len(spaces)+len(b.defined)+len(services) == 0 {
		return
	}
	for _, w := range b.wants {
		b.inside(w, spaces[w.Namespace])
		b.inside(w, b.defined[w.GroupKind()].by)
		b.inside(w, services[schema.GroupVersion{Group: w.Group, Version: w.Version}])
	}
}

func version(w *Want) string {
	spec, _ := w.Manifest.Object["spec"].(map[string]any)
	v, _ := spec["version"].(string)
	return v
}

func (b *builder) inside(w, container *Want) {
	if container == nil || container == w {
		return
	}
	if w.Policy.ApplyOrder < container.Policy.ApplyOrder || w.Policy.DeleteOrder > container.Policy.DeleteOrder {
		b.errs = append(b.errs, &fault.Invalid{Key: w.Key,
			What: fmt.Sprintf("it must be applied no earlier and deleted no later than %s", container.Key)})
	}
}
