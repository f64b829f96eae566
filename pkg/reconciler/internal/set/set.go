// Package set turns the objects of a request into a checked set: normal forms,
// digests, effective policies and the order in which they go. It is pure but
// for the question whether a kind is namespaced.
package set

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/internal/order"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// once is the digest of objects that are written once.
const once = "once"

// Gate is asked before content is written.
type Gate interface {
	Open(ctx context.Context, live *unstructured.Unstructured, now time.Time) (open bool, reason string, err error)
}

// Entry is one object as the caller gave it.
type Entry struct {
	Manifest *unstructured.Unstructured // never changed
	Policy   policy.Policy
	Gate     Gate
	Manager  string // empty means that of the reconciler
	Marks    map[string]string
	Payload  map[string]string
	Reclaim  []policy.Manager // nil means that of the reconciler
	Heir     string           // empty means that there is none
}

// Rules are what holds for every object of a set.
type Rules struct {
	// Name prefixes annotations.
	Name string
	// Defaults have every field set.
	Defaults policy.Policy
	// Applied requires server-side apply.
	Applied bool
	// Norm holds the default namespace and the reserved keys.
	Norm object.Norm
	// Component is the digest of the owner, and Signature what it writes on
	// shared objects.
	Component string
	Signature stamp.Signature
	// Managed are kinds that come about without being defined in the set.
	Managed []policy.Type
	// Namespaced reports the scope of a kind, and false for known when the
	// server does not know the kind.
	Namespaced func(schema.GroupVersionKind) (namespaced, known bool, err error)
	// Before reports the scope that a kind had in an earlier set, and false for
	// known when there was none of it. It is asked when the server cannot tell.
	Before func(schema.GroupKind) (namespaced, known bool)
}

// Want is one object of a set.
type Want struct {
	object.Key
	*Entry

	Version string
	// Policy is the effective one.
	Policy policy.Policy
	Norm   object.Norm
	Digest string
	// Types are the kinds that the object defines.
	Types []policy.Type
	Stage order.Stage
	// Untyped says that the server does not know the kind yet.
	Untyped bool
	// Guessed says that not even the scope of the kind is known, so that the key
	// may be wrong.
	Guessed bool
	// Err says why the server cannot tell whether it knows the kind.
	Err error
}

// Body returns the object to write, without marks.
func (w *Want) Body() *unstructured.Unstructured { return w.Norm.Body(w.Manifest) }

// New checks the entries, which the wants go on using, and returns them in the order of apply: waves, then
// stages, then ranks of kinds, then the order given. The error joins a
// *fault.Invalid for every entry that cannot be accepted.
func New(entries []Entry, r Rules) ([]*Want, error) {
	b := builder{Rules: r, defined: map[schema.GroupKind]definition{}, wants: make([]*Want, 0, len(entries))}
	all := make([]Want, len(entries)) // one allocation rather than thousands
	for i := range entries {
		if err := b.add(&all[i], &entries[i], i); err != nil {
			b.errs = append(b.errs, err)
		}
	}
	for _, w := range b.wants {
		b.settle(w)
	}
	b.unique()
	b.contain()
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	slices.SortStableFunc(b.wants, compare)
	return b.wants, nil
}

func compare(a, b *Want) int {
	return cmp.Or(
		cmp.Compare(a.Policy.ApplyOrder, b.Policy.ApplyOrder),
		cmp.Compare(a.Stage, b.Stage),
		cmp.Compare(order.Apply(a.GroupKind()), order.Apply(b.GroupKind())))
}

type builder struct {
	Rules
	wants   []*Want
	defined map[schema.GroupKind]definition
	apis    []schema.GroupVersion
	scopes  map[schema.GroupVersionKind]scope
	errs    []error
}

type scope struct {
	namespaced, known, guessed bool
	err                        error
}

// definition is a kind that a CustomResourceDefinition of the set defines.
type definition struct {
	namespaced bool
	by         *Want
}

func (b *builder) add(w *Want, e *Entry, i int) error {
	if err := object.Check(e.Manifest); err != nil {
		return &fault.Invalid{Key: keyOf(e.Manifest), What: fmt.Sprintf("object %d: %v", i, err)}
	}
	w.Key, w.Entry = object.KeyOf(e.Manifest), e
	w.Version = e.Manifest.GroupVersionKind().Version
	if err := b.policy(w, e.Policy); err != nil {
		return &fault.Invalid{Key: w.Key, What: err.Error()}
	}
	if w.DefinesTypes() {
		if err := b.define(w); err != nil {
			return &fault.Invalid{Key: w.Key, What: err.Error()}
		}
	}
	b.wants = append(b.wants, w)
	return nil
}

// keyOf returns the key as far as the manifest has one.
func keyOf(u *unstructured.Unstructured) object.Key {
	if u == nil || u.Object == nil {
		return object.Key{}
	}
	return object.KeyOf(u)
}

func (b *builder) policy(w *Want, given policy.Policy) error {
	if err := given.Check(); err != nil {
		return err
	}
	asked, err := policy.Read(b.Name, w.Manifest.GetAnnotations())
	if err != nil {
		return err
	}
	w.Policy = given.Or(asked).Or(b.Defaults)
	switch {
	case w.Policy.PurgeOrder != nil && (w.IsNamespace() || w.DefinesTypes()):
		return errors.New("a purge order is not allowed for this kind")
	case b.Applied && w.Policy.Update != policy.SsaMerge && w.Policy.Update != policy.SsaOverride:
		return fmt.Errorf("update policy %s does not work with shared objects", w.Policy.Update)
	}
	return nil
}

// define notes which kinds a CustomResourceDefinition or APIService defines.
func (b *builder) define(w *Want) error {
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(w.Manifest.Object, path...)
		return s
	}
	if w.GroupKind() == object.APIService {
		gv := schema.GroupVersion{Group: text("spec", "group"), Version: text("spec", "version")}
		b.apis = append(b.apis, gv)
		w.Types = []policy.Type{{Group: gv.Group, Kind: "*"}}
		return nil
	}
	gk := schema.GroupKind{Group: text("spec", "group"), Kind: text("spec", "names", "kind")}
	kind := text("spec", "scope")
	if gk.Group == "" || gk.Kind == "" || kind != "Namespaced" && kind != "Cluster" {
		return errors.New("spec.group, spec.names.kind or spec.scope is missing or wrong")
	}
	b.defined[gk] = definition{namespaced: kind == "Namespaced", by: w}
	w.Types = []policy.Type{{Group: gk.Group, Kind: gk.Kind}}
	return nil
}

// settle completes w once all definitions are known.
func (b *builder) settle(w *Want) {
	s := b.scope(w)
	w.Untyped, w.Guessed, w.Err = !s.known, s.guessed, s.err
	w.Norm = b.Norm
	w.Norm.Namespaced = s.namespaced
	w.Key = w.Norm.KeyOf(w.Manifest)
	if w.Norm.Namespaced && w.Namespace == "" {
		b.errs = append(b.errs, &fault.Invalid{Key: w.Key, What: "the kind is namespaced and no namespace is given"})
	}
	digest, err := w.Norm.Digest(w.Manifest)
	if err != nil {
		b.errs = append(b.errs, &fault.Invalid{Key: w.Key, What: err.Error()})
		return
	}
	digest += b.extras(w)
	switch w.Policy.Reconcile {
	case policy.Once:
		digest = once
	case policy.OnObjectOrComponentChange:
		digest += "@" + object.Hash(b.Component)
	default:
	}
	w.Digest = digest
	w.Stage = b.stage(w)
}

// extras returns what a digest ends with for what is written beside the
// manifest; nothing if there is none.
func (b *builder) extras(w *Want) string {
	note := b.Signature.Note(w.Key)
	parent := ""
	if b.Signature.Claims(w.Policy.Delete) {
		parent = string(b.Signature.Parent.UID)
	}
	if len(w.Marks)+len(note) == 0 && parent == "" {
		return ""
	}
	return "@" + object.Hash(fmt.Sprint(w.Marks, note, parent))
}

// scope returns the scope of a kind. A definition in the set wins. A kind that
// the server does not know has the scope that it had before, as another key
// would make the object look like one that left the set; a new one is
// namespaced if it can be.
func (b *builder) scope(w *Want) scope {
	gvk := w.GroupKind().WithVersion(w.Version)
	s, ok := b.scopes[gvk]
	if !ok {
		s.namespaced, s.known, s.err = b.Namespaced(gvk)
		if b.scopes == nil {
			b.scopes = map[schema.GroupVersionKind]scope{}
		}
		b.scopes[gvk] = s
	}
	if s.known && s.err == nil {
		return s
	}
	if d, ok := b.defined[w.GroupKind()]; ok {
		s.namespaced, s.err = d.namespaced, nil
	} else if before, ok := b.Before(w.GroupKind()); ok {
		s.namespaced = before
	} else {
		s.namespaced, s.guessed = w.Namespace != "" || b.Norm.Namespace != "", true
	}
	return s
}

func (b *builder) stage(w *Want) order.Stage {
	if w.GroupKind() == object.APIService {
		return order.Late
	}
	if _, ok := b.defined[w.GroupKind()]; ok {
		return order.Managed
	}
	for _, gv := range b.apis {
		if gv.Group == w.Group && gv.Version == w.Version {
			return order.Managed
		}
	}
	for _, t := range b.Managed {
		if t.Matches(w.GroupKind()) {
			return order.Managed
		}
	}
	return order.Plain
}

func (b *builder) unique() {
	seen := make(map[object.Key]bool, len(b.wants))
	for _, w := range b.wants {
		if seen[w.Key] {
			b.errs = append(b.errs, &fault.Invalid{Key: w.Key, What: "the set holds the object twice"})
		}
		seen[w.Key] = true
	}
}
