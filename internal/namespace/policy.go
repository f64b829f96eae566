// Package namespace decides which namespaces a generator may manage and which
// labels and annotations they get. It asks no cluster and touches none.
package namespace

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/metadata"
)

// reserved are the namespaces that no generator manages.
var reserved = []string{"default", "flux-system", "kube-public", "kube-system"}

// IsReserved reports whether no generator may manage the namespace.
func IsReserved(name string) bool { return slices.Contains(reserved, name) }

// Policy is a validated spec.managedNamespaces. Concurrent use is safe.
type Policy struct {
	names       []rule
	labels      map[string]rule
	annotations map[string]rule
	common      metadata.Set
	operations  []v1beta1.MetadataOperation
}

// Compile checks and compiles m, on top of the metadata common to all that the
// generator makes. Errors name the field below spec.managedNamespaces.
func Compile(m *v1beta1.ManagedNamespaces, common metadata.Set) (*Policy, error) {
	if len(m.AllowedNames) == 0 {
		return nil, errors.New("allowedNames: want at least one expression")
	}
	p := &Policy{common: common}
	for i, text := range m.AllowedNames {
		r, err := compileRule(text, nameVariable)
		if err != nil {
			return nil, fmt.Errorf("allowedNames[%d]: %w", i, err)
		}
		p.names = append(p.names, r)
	}
	if m.Metadata == nil {
		return p, nil
	}
	if m.Metadata.FromSource == nil && len(m.Metadata.From) == 0 {
		return nil, errors.New("metadata: want fromSource, from, or both")
	}
	if err := p.compileFile(m.Metadata.FromSource); err != nil {
		return nil, fmt.Errorf("metadata.fromSource.%w", err)
	}
	for i, op := range m.Metadata.From {
		if err := checkOperation(op); err != nil {
			return nil, fmt.Errorf("metadata.from[%d].%w", i, err)
		}
	}
	p.operations = m.Metadata.From
	return p, nil
}

func (p *Policy) compileFile(f *v1beta1.MetadataSource) error {
	if f == nil {
		return nil
	}
	if len(f.AllowedLabels)+len(f.AllowedAnnotations) == 0 {
		return errors.New("allowedLabels: a file that may set nothing makes no sense; allow a label or annotation")
	}
	var err error
	if p.labels, err = compileRules(f.AllowedLabels); err != nil {
		return fmt.Errorf("allowedLabels%w", err)
	}
	if p.annotations, err = compileRules(f.AllowedAnnotations); err != nil {
		return fmt.Errorf("allowedAnnotations%w", err)
	}
	return nil
}

func compileRules(texts map[string]string) (map[string]rule, error) {
	out := make(map[string]rule, len(texts))
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		r, err := compileRule(texts[key], valueVariable)
		if err != nil {
			return nil, fmt.Errorf("[%s]: %w", key, err)
		}
		out[key] = r
	}
	return out, nil
}

func checkOperation(op v1beta1.MetadataOperation) error {
	switch op.Strategy {
	case v1beta1.MetadataReset, v1beta1.MetadataOverride, v1beta1.MetadataMerge:
	default:
		return fmt.Errorf("strategy: %q is none of Reset, Override and Merge", op.Strategy)
	}
	if op.Namespace == "" {
		return fmt.Errorf("namespace: want a name, or %q for all", v1beta1.AllNamespaces)
	}
	return metadata.Of(&op.Metadata).Check()
}

// Admit says why the namespace may not be managed; nil means that it may.
func (p *Policy) Admit(name string) error {
	if IsReserved(name) {
		return fmt.Errorf("the namespace %q is reserved and cannot be managed", name)
	}
	var failed error
	for _, r := range p.names {
		ok, err := r.accepts(name)
		if ok && err == nil {
			return nil
		}
		failed = fail.Join(failed, err)
	}
	if failed != nil {
		return fmt.Errorf("the namespace %q is accepted by none of allowedNames: %w", name, failed)
	}
	return fmt.Errorf("the namespace %q is accepted by none of allowedNames; add an expression or change the artifact's namespace", name)
}

// Metadata returns what the namespace gets: the common metadata, on top of it
// what file asks for and may set, and then the operations in order. File is
// the content of a NamespaceMetadata file, nil when there is none. The labels
// of the managing program are not part of it. It is an error if the namespace
// would join a tenant.
func (p *Policy) Metadata(name string, file []byte) (metadata.Set, error) {
	fromFile, err := p.fromFile(file)
	if err != nil {
		return metadata.Set{}, err
	}
	out := p.common.Override(fromFile)
	for _, op := range p.operations {
		if op.Namespace != v1beta1.AllNamespaces && op.Namespace != name {
			continue
		}
		switch set := metadata.Of(&op.Metadata); op.Strategy {
		case v1beta1.MetadataReset:
			out = set
		case v1beta1.MetadataOverride:
			out = out.Override(set)
		case v1beta1.MetadataMerge:
			out = out.Merge(set)
		}
	}
	// The controller is who writes it, whom no admission policy stops, and the
	// rights of who wrote the generator say nothing about tenants.
	if tenant, ok := out.Labels[v1beta2.LabelTenant]; ok {
		return metadata.Set{}, fmt.Errorf("the namespace %q would join tenant %q: a generator cannot set the label %s; leave it out and let somebody set it who has the verb join on the tenant",
			name, tenant, v1beta2.LabelTenant)
	}
	return out, nil
}
