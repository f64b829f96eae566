package wanted

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Mappers of a discovery know a list of every kind, and one of no kind, as if
// they were objects.
func TestListsAreNoKinds(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	group := schema.GroupVersion{Group: "example.org", Version: "v1"}
	for kind, scope := range map[string]meta.RESTScope{
		"Widget": meta.RESTScopeNamespace, "WidgetList": meta.RESTScopeNamespace,
		"List": meta.RESTScopeRoot, "Blacklist": meta.RESTScopeRoot, "AllowList": meta.RESTScopeNamespace,
	} {
		mapper.Add(group.WithKind(kind), scope)
	}
	s := &Search{options: Options{Mapper: mapper}}
	for kind, want := range map[string]struct{ namespaced, known bool }{
		"Widget": {true, true}, "WidgetList": {}, "List": {}, "Nothing": {}, "NothingList": {},
		"Blacklist": {false, true}, "AllowList": {true, true}, // they only sound like lists
	} {
		namespaced, known, err := s.namespaced(group.WithKind(kind))
		if err != nil || namespaced != want.namespaced || known != want.known {
			t.Errorf("%s: namespaced %t, known %t, error %v, want %v", kind, namespaced, known, err, want)
		}
	}
}
