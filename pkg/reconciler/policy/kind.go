package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Manager selects field managers whose fields are reclaimed.
type Manager struct {
	// Name is the exact name, or the beginning of it with Prefix.
	Name   string
	Prefix bool
	// Operation is Apply or Update; empty means both.
	Operation string
}

// Matches reports whether the manager with that operation is selected.
func (m Manager) Matches(name, operation string) bool {
	if m.Operation != "" && m.Operation != operation {
		return false
	}
	return name == m.Name || m.Prefix && strings.HasPrefix(name, m.Name)
}

// Type selects kinds. The group is exact, or "*", or "*.suffix"; the kind is
// exact or "*".
type Type struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// Matches reports whether the kind is selected.
func (t Type) Matches(gk schema.GroupKind) bool {
	if t.Kind != "*" && t.Kind != gk.Kind {
		return false
	}
	if t.Group == "*" || t.Group == gk.Group {
		return true
	}
	suffix, ok := strings.CutPrefix(t.Group, "*")
	return ok && strings.HasPrefix(suffix, ".") && strings.HasSuffix(gk.Group, suffix)
}
