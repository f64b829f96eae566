// Package replicate decides which objects a replication wants: its blocks are
// rendered for every destination, put in their place and merged where several
// renders are one object. It asks no cluster; what sources hold comes in as
// values, and who may see them is decided where they are read.
package replicate

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/condition"
	"github.com/weir-dev/weir/internal/template"
)

// Block is a compiled entry of spec.resources. It does not change.
type Block struct {
	// Index is its position.
	Index int
	// Namespaces selects among the namespaces of a tenant.
	Namespaces labels.Selector
	// Policy is the effective one.
	Policy v1beta2.Reconciled
	// Condition is nil when content is always applied.
	Condition *condition.Condition

	spec       v1beta2.Block
	raw        []map[string]any
	generators []*template.Generator
}

// Compile compiles the blocks of a spec. The errors, at the positions of their
// blocks, say what is wrong with those that cannot be used, below
// spec.resources; the others can.
func Compile(spec *v1beta2.ReplicationSpec, l template.Limits) ([]*Block, []error) {
	blocks, errs := make([]*Block, len(spec.Resources)), make([]error, len(spec.Resources))
	for i := range spec.Resources {
		b := &Block{Index: i, spec: spec.Resources[i], Policy: policyOf(spec, &spec.Resources[i])}
		if err := b.compile(l); err != nil {
			errs[i] = fmt.Errorf("spec.resources[%d]%w", i, err)
			continue
		}
		blocks[i] = b
	}
	return blocks, errs
}

func (b *Block) compile(l template.Limits) error {
	var err error
	b.Namespaces = labels.Everything()
	if b.spec.NamespaceSelector != nil {
		if b.Namespaces, err = metav1.LabelSelectorAsSelector(b.spec.NamespaceSelector); err != nil {
			return fmt.Errorf(".namespaceSelector: %w", err)
		}
	}
	if p := b.spec.Policy; p != nil && p.Condition != "" {
		if b.Condition, err = condition.Compile(p.Condition); err != nil {
			return fmt.Errorf(".policy.condition: %w", err)
		}
	}
	for i := range b.spec.RawItems {
		m, err := manifest(b.spec.RawItems[i].Raw)
		if err != nil {
			return fmt.Errorf(".rawItems[%d]: %w", i, err)
		}
		b.raw = append(b.raw, m)
	}
	for i, g := range b.spec.Generators {
		compiled, err := template.Compile(g, l)
		if err != nil {
			return fmt.Errorf(".generators[%d]: error running generator: %w", i, err)
		}
		b.generators = append(b.generators, compiled)
	}
	return b.compileContext()
}

func (b *Block) compileContext() error {
	if b.spec.Context == nil {
		return nil
	}
	seen := map[string]bool{"tenant": true, "namespace": true, "replications": true}
	for i, r := range b.spec.Context.Resources {
		key := indexOf(i, r)
		if seen[key] {
			return fmt.Errorf(".context.resources[%d].index: %q is taken; choose another", i, key)
		}
		seen[key] = true
	}
	return nil
}

// Parts returns how many objects a render gives, where a generator and a
// reference to sources count as one each.
func (b *Block) Parts() int {
	return len(b.raw) + len(b.generators) + len(b.spec.NamespacedItems)
}

func indexOf(i int, r v1beta2.ContextResource) string { return cmp.Or(r.Index, strconv.Itoa(i)) }

func manifest(raw []byte) (map[string]any, error) {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if s, ok := m[field].(string); !ok || s == "" {
			return nil, errors.New(field + " is missing or is no string")
		}
	}
	return m, nil
}

// policyOf returns the effective policy of a block: its own, or that of the
// deprecated fields of the spec.
func policyOf(spec *v1beta2.ReplicationSpec, b *v1beta2.Block) v1beta2.Reconciled {
	p := b.Policy
	if p == nil {
		return Legacy(spec)
	}
	out := usual()
	out.Creation, out.Deletion = cmp.Or(p.Creation, out.Creation), cmp.Or(p.Deletion, out.Deletion)
	out.Protect = p.Protect == nil || *p.Protect
	out.Force = p.Force != nil && *p.Force
	return out
}

// Legacy returns the policy of blocks and items that have none: that of the
// deprecated fields of the spec.
func Legacy(spec *v1beta2.ReplicationSpec) v1beta2.Reconciled {
	out := usual()
	if s := spec.Settings; s != nil {
		out.Force = s.Force
		if s.Adopt {
			out.Creation = v1beta2.CreationMerge
		}
	}
	if spec.PruningOnDelete != nil && !*spec.PruningOnDelete {
		out.Deletion = v1beta2.DeletionOrphan
	}
	return out
}

func usual() v1beta2.Reconciled {
	return v1beta2.Reconciled{Creation: v1beta2.CreationOwner, Protect: true, Deletion: v1beta2.DeletionRemove}
}
