package replicate

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/protect/mark"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

const (
	// Name prefixes the annotations of the object reconciler, which manifests of
	// replications cannot use.
	Name = "replications.weir.dev"
	// prefix begins the field managers of all replications, Capsule's included.
	prefix = "projectcapsule.dev/resource/"
	// Lifecycle is the field manager of tracking metadata that is written
	// without content.
	Lifecycle = prefix + "controller"
	// maxManager is how many bytes a field manager may have.
	maxManager = 128
)

// capsule is how Capsule's own field managers look: a hash, the namespace, the
// tenant and the origin.
var capsule = regexp.MustCompile(`^[0-9a-z]{1,13}/[^/]*/[^/]*/.+/$`)

// Manager returns the field manager of a replication on one object. It depends
// on nothing but their names, and fits what the API server takes. Namespace is
// that of the replication, empty for a global one.
func Manager(namespace, name string, k object.Key) string {
	who := "gtr/" + name
	if namespace != "" {
		who = "tr/" + namespace + "/" + name
	}
	sum := sha256.Sum256([]byte(who + "\x00" + k.String()))
	tail := "/" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
	if most := maxManager - len(prefix) - len(tail); len(who) > most {
		who = who[:most]
	}
	return prefix + who + tail
}

// IsManager reports whether a field manager is that of a replication, of Weir or
// of Capsule.
func IsManager(manager string) bool {
	if strings.HasPrefix(manager, prefix) {
		return !strings.HasPrefix(manager, Lifecycle)
	}
	return capsule.MatchString(manager)
}

// Family returns how replications share objects.
func Family() *stamp.Shared {
	return &stamp.Shared{
		Peer:       IsManager,
		Managed:    map[string]string{v1beta2.LabelManagedBy: v1beta2.ValueResources},
		Created:    map[string]string{v1beta2.LabelCreatedBy: v1beta2.ValueResources},
		Accept:     func(_, value string) bool { return value == v1beta2.ValueReplications },
		WasCreated: IsCreated,
		Marks:      []string{v1beta2.LabelProtected, v1beta2.LabelProtectedBy, v1beta2.LabelResources},
		Stray:      mark.Stray,
	}
}

func isReservedLabel(key string) bool {
	switch key {
	case v1beta2.LabelManagedBy, v1beta2.LabelCreatedBy, v1beta2.LabelProtectedBy, v1beta2.LabelResources, v1beta2.LabelCapsuleManagedBy:
		return true
	}
	return strings.HasPrefix(key, "protection.projectcapsule.dev/")
}

// isReservedAnnotation says so of what the object reconciler would read, and of
// what tells who manages an object.
func isReservedAnnotation(key string) bool {
	return strings.HasPrefix(key, Name+"/") || strings.HasPrefix(key, mark.Prefix)
}
