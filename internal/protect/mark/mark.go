// Package mark says how a target tells which replications manage it, and which
// accounts may write it for them. The marks are labels and annotations of the
// target itself, so that an admission policy can read them while nothing of
// Weir runs. Composing and reading them is all that happens here: who may write
// them is for package protect.
package mark

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

const (
	// Prefix begins the annotations that name the managers of a target, one for
	// each. No manifest can set them.
	Prefix = "managers.weir.dev/"
	// Extra is the key of the extra that impersonated requests carry. Its value
	// is the replication that the controller acts for. The API server takes it
	// only from who may impersonate userextras/weir.dev/replication, so it tells
	// the controller from a program that holds a token of the same account.
	Extra = "weir.dev/replication"
)

// Labels are the keys of the labels that say that an object is managed, or was.
// The value of the first two decides; see [IsTracking].
func Labels() []string {
	return []string{
		v1beta2.LabelManagedBy, v1beta2.LabelCreatedBy,
		v1beta2.LabelProtected, v1beta2.LabelProtectedBy, v1beta2.LabelResources,
	}
}

// IsTracking reports whether a label says that replications manage or created
// the object, or protect it. Capsule writes the same keys with other values on
// what its other controllers make.
func IsTracking(key, value string) bool {
	switch key {
	case v1beta2.LabelManagedBy, v1beta2.LabelCreatedBy:
		return value == v1beta2.ValueResources || value == v1beta2.ValueReplications
	}
	return slices.Contains(Labels(), key)
}

// Replication is a TenantResource, or with an empty namespace a
// GlobalTenantResource.
type Replication struct{ Namespace, Name string }

// String returns the replication as kind and name: GlobalTenantResource/name or
// TenantResource/namespace/name.
func (r Replication) String() string {
	if r.Namespace == "" {
		return v1beta2.KindGlobalTenantResource + "/" + r.Name
	}
	return v1beta2.KindTenantResource + "/" + r.Namespace + "/" + r.Name
}

// Key returns the key of the annotation that names the replication. It holds a
// hash, since a name can be longer than a key.
func (r Replication) Key() string {
	sum := sha256.Sum256([]byte(r.String()))
	return Prefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// Record returns the value of that annotation: the replication, the user name
// of the account that writes for it, and the target. The target is in it so
// that the annotation means nothing on another object, where controllers put
// it that copy the annotations of a parent.
func (r Replication) Record(account, target string) string {
	return r.String() + " " + account + " " + target
}

// Target names an object in a record: kind and group, namespace and name.
// Versions of a kind are one.
func Target(kind schema.GroupKind, namespace, name string) string {
	return kind.String() + "/" + namespace + "/" + name
}

// Manager is a replication that manages an object.
type Manager struct {
	Replication
	// Account is the user name of who writes for it.
	Account string
}

// Managers returns who manages the target by its annotations, sorted by name.
// Records of other objects, and what is no record, are left out.
func Managers(annotations map[string]string, target string) []Manager {
	var out []Manager
	for key, value := range annotations {
		if m, ok := parse(value, target); ok && key == m.Key() {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Manager) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

func parse(value, target string) (Manager, bool) {
	words := strings.Split(value, " ")
	if len(words) != 3 || words[2] != target {
		return Manager{}, false
	}
	m := Manager{Account: words[1]}
	switch path := strings.Split(words[0], "/"); {
	case len(path) == 2 && path[0] == v1beta2.KindGlobalTenantResource:
		m.Name = path[1]
	case len(path) == 3 && path[0] == v1beta2.KindTenantResource:
		m.Namespace, m.Name = path[1], path[2]
	default:
		return Manager{}, false
	}
	return m, m.Name != ""
}

// Stray returns the keys of the annotations under [Prefix] on an object that
// no replication manages, sorted; nothing if one does. Whoever may write such
// an object can have put them there, so they have to go before a replication
// adopts it: afterwards they would be believed.
func Stray(o metav1.Object) []string {
	for key, value := range o.GetLabels() {
		if IsTracking(key, value) {
			return nil
		}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(o.GetAnnotations())) {
		if strings.HasPrefix(key, Prefix) {
			out = append(out, key)
		}
	}
	return out
}
