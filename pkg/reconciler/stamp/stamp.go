// Package stamp marks objects with their owner and reads the marks. It is
// pure. A stamp stands on the metadata of the object itself and never inside
// pod templates or selectors.
package stamp

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Stamp says under which keys an exclusive owner is recorded.
type Stamp struct {
	// Label is the key of the label that decides who owns an object.
	Label string
	// Plain writes the owner id itself into the label, which must then be a
	// valid label value; otherwise the label holds its hash.
	Plain bool
	// Annotation is the key of the owner id in clear text; empty for none.
	Annotation string
	// Digest is the key of the annotation with the manifest's digest; empty
	// for none. With it, a pass that follows a lost inventory or a crash writes
	// less.
	Digest string
	// Labels are written beside the owner, such as app.kubernetes.io/managed-by.
	Labels map[string]string
}

// Prefix returns the stamp of a reconciler of that name: the label and
// annotation <name>/owner-id and the annotation <name>/digest.
func Prefix(name string) Stamp {
	return Stamp{Label: name + "/owner-id", Annotation: name + "/owner-id", Digest: name + "/digest"}
}

// Hash returns the label value for an owner id: 52 characters of lower-case
// base32.
func Hash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// Value returns the value of the label for an owner id.
func (s Stamp) Value(id string) string {
	if s.Plain {
		return id
	}
	return Hash(id)
}

// Selector selects the objects of the owner.
func (s Stamp) Selector(id string) labels.Selector {
	r, err := labels.NewRequirement(s.Label, selection.Equals, []string{s.Value(id)})
	if err != nil {
		return labels.Nothing()
	}
	return labels.NewSelector().Add(*r)
}

// Foreign selects the objects that the owner does not own.
func (s Stamp) Foreign(id string) labels.Selector {
	r, err := labels.NewRequirement(s.Label, selection.NotEquals, []string{s.Value(id)})
	if err != nil {
		return labels.Nothing()
	}
	return labels.NewSelector().Add(*r)
}

// Mark is the stamp of one object as it is to be written.
type Mark struct{ Labels, Annotations map[string]string }

// Mark returns what to write on an object of the owner with that digest.
func (s Stamp) Mark(id, digest string) Mark {
	m := Mark{Labels: map[string]string{}, Annotations: map[string]string{}}
	for k, v := range s.Labels {
		m.Labels[k] = v
	}
	m.Labels[s.Label] = s.Value(id)
	if s.Annotation != "" {
		m.Annotations[s.Annotation] = id
	}
	if s.Digest != "" {
		m.Annotations[s.Digest] = digest
	}
	return m
}

// Keys returns the keys of labels and annotations that manifests cannot set.
func (s Stamp) Keys() (labelKeys, annotationKeys []string) {
	labelKeys = append(labelKeys, s.Label)
	for k := range s.Labels {
		labelKeys = append(labelKeys, k)
	}
	for _, k := range []string{s.Annotation, s.Digest} {
		if k != "" {
			annotationKeys = append(annotationKeys, k)
		}
	}
	return labelKeys, annotationKeys
}

// Owner is what an object's stamp says.
type Owner struct {
	// Ours says that the label names us.
	Ours bool
	// Lost says that the label names nobody but the annotation still names us.
	Lost bool
	// Name is the owner's id, or the label's value when there is no id. It is
	// empty when the object has no owner.
	Name string
	// Digest is the recorded digest of the manifest.
	Digest string
	// Intact says that every key of the stamp has the value we would write,
	// the digest aside.
	Intact bool
}

// Read returns what the stamp of m says to the owner with that id. An empty
// label counts as no owner.
func (s Stamp) Read(m metav1.Object, id string) Owner {
	ls, as := m.GetLabels(), m.GetAnnotations()
	value, clear := ls[s.Label], as[s.Annotation]
	o := Owner{Ours: value == s.Value(id), Name: value}
	if s.Digest != "" {
		o.Digest = as[s.Digest]
	}
	if s.Annotation != "" && clear != "" && value != "" && s.Value(clear) == value {
		o.Name = clear
	}
	o.Lost = value == "" && s.Annotation != "" && clear == id
	o.Intact = o.Ours && (s.Annotation == "" || clear == id)
	for k, v := range s.Labels {
		o.Intact = o.Intact && ls[k] == v
	}
	return o
}
