package stamp

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Shared says how owners that share objects are told apart. Each owner applies
// its fields under field managers of its own; the labels here are applied
// together with them, so they stay until the last owner leaves.
type Shared struct {
	// Peer reports whether a field manager belongs to an owner of this family.
	Peer func(manager string) bool
	// Managed are the labels of every object of the family.
	Managed map[string]string
	// Created are further labels of objects that the family created. The last
	// owner that leaves such an object deletes it.
	Created map[string]string
	// Accept reports whether a label of Managed or Created may have another value
	// than theirs, which it then keeps. Nil means that it may not: the label is
	// set right.
	Accept func(key, value string) bool
	// WasCreated reports whether the family created the object. Nil means that
	// it has the labels of Created.
	WasCreated func(live metav1.Object) bool
	// Marks are the keys of the labels that objects of a request may ask for,
	// such as a mark of protection. They are kept right also while a gate is
	// closed, and go when no owner of the family wants them.
	Marks []string
	// Stray returns the keys of annotations that must be gone before the family
	// joins an object that it does not have: anybody may have put them there, and
	// once it is joined they would mean something. Nil means that there are none.
	Stray func(live metav1.Object) []string
}

// IsCreated reports whether the family created the object.
func (s *Shared) IsCreated(live metav1.Object) bool {
	if s.WasCreated != nil {
		return s.WasCreated(live)
	}
	if len(s.Created) == 0 {
		return false
	}
	ls := live.GetLabels()
	for k, v := range s.Created {
		if ls[k] != v {
			return false
		}
	}
	return true
}

// Mark returns the labels to apply with an object that has the given labels so
// far.
func (s *Shared) Mark(created bool, marks, live map[string]string) Mark {
	m := Mark{Labels: maps.Clone(s.Managed)}
	if m.Labels == nil {
		m.Labels = map[string]string{}
	}
	if created {
		maps.Copy(m.Labels, s.Created)
	}
	for k := range m.Labels {
		if v, ok := live[k]; ok && s.Accept != nil && s.Accept(k, v) {
			m.Labels[k] = v
		}
	}
	maps.Copy(m.Labels, marks)
	return m
}

// Keys returns the keys of labels that manifests cannot set.
func (s *Shared) Keys() []string {
	keys := append([]string(nil), s.Marks...)
	for k := range s.Managed {
		keys = append(keys, k)
	}
	for k := range s.Created {
		keys = append(keys, k)
	}
	return keys
}
