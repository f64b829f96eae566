package object

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Norm is the normal form of manifests: what a set, and not the manifest
// itself, says about them.
type Norm struct {
	// Namespaced says that the kind is namespaced. The namespace of other
	// kinds is dropped.
	Namespaced bool
	// Namespace is that of manifests that name none.
	Namespace string
	// Labels and Annotations are keys that manifests cannot set.
	Labels, Annotations []string
}

// Check returns an error for a manifest that cannot be an object.
func Check(u *unstructured.Unstructured) error {
	if u == nil || u.Object == nil {
		return errors.New("the manifest is empty")
	}
	for _, k := range []string{"apiVersion", "kind"} {
		if s, ok := u.Object[k].(string); !ok || s == "" {
			return fmt.Errorf("%s is missing or is not a string", k)
		}
	}
	if gvk := u.GroupVersionKind(); gvk.Version == "" {
		return fmt.Errorf("apiVersion %q is malformed", u.GetAPIVersion())
	}
	m, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return errors.New("metadata is missing or is not a map")
	}
	return checkMetadata(m)
}

func checkMetadata(m map[string]any) error {
	if v := m["generateName"]; v != nil && v != "" {
		return errors.New("metadata.generateName is not supported")
	}
	if s, ok := m["name"].(string); !ok || s == "" {
		return errors.New("metadata.name is missing or is not a string")
	}
	if v, ok := m["namespace"]; ok && v != nil {
		if _, ok := v.(string); !ok {
			return errors.New("metadata.namespace is not a string")
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		v, ok := m[field]
		if !ok || v == nil {
			continue
		}
		entries, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("metadata.%s is not a map", field)
		}
		for k, v := range entries {
			if _, ok := v.(string); !ok {
				return fmt.Errorf("metadata.%s: the value of %q is not a string", field, k)
			}
		}
	}
	return nil
}

// KeyOf returns the key of the manifest in its normal form.
func (n Norm) KeyOf(u *unstructured.Unstructured) Key {
	k := KeyOf(u)
	switch {
	case !n.Namespaced:
		k.Namespace = ""
	case k.Namespace == "":
		k.Namespace = n.Namespace
	}
	return k
}

// namespace returns the namespace in the metadata, or else the default.
func namespace(m map[string]any, def string) string {
	if s, ok := m["namespace"].(string); ok && s != "" {
		return s
	}
	return def
}

// Body returns a copy of the checked manifest in its normal form, ready to be
// marked and written.
func (n Norm) Body(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	m := u.Object["metadata"].(map[string]any)
	for k := range ignored {
		delete(m, k)
	}
	if n.Namespaced {
		m["namespace"] = namespace(m, n.Namespace)
	} else {
		delete(m, "namespace")
	}
	drop(m, "labels", n.Labels)
	drop(m, "annotations", n.Annotations)
	if n.merges(u) {
		mergeStrings(u.Object)
	}
	return u
}

func drop(m map[string]any, field string, keys []string) {
	entries, ok := m[field].(map[string]any)
	if !ok {
		delete(m, field)
		return
	}
	for _, k := range keys {
		delete(entries, k)
	}
	if len(entries) == 0 {
		delete(m, field)
	}
}

// merges reports whether u is a Secret with stringData.
func (n Norm) merges(u *unstructured.Unstructured) bool {
	_, ok := u.Object["stringData"].(map[string]any)
	return ok && u.GetKind() == "Secret" && u.GetAPIVersion() == "v1"
}

// mergeStrings moves the stringData of a Secret into its data, as the server
// would, because a server-side apply of stringData never removes a key.
func mergeStrings(o map[string]any) {
	data, ok := o["data"].(map[string]any)
	if !ok {
		if o["data"] != nil {
			return // the server says what is wrong with it
		}
		data = map[string]any{}
	}
	texts := o["stringData"].(map[string]any)
	for _, v := range texts {
		if _, ok := v.(string); !ok {
			return
		}
	}
	for k, v := range texts {
		data[k] = base64.StdEncoding.EncodeToString([]byte(v.(string)))
	}
	delete(o, "stringData")
	if len(data) > 0 {
		o["data"] = data
	}
}

// Label sets labels on u.
func Label(u *unstructured.Unstructured, labels, annotations map[string]string) {
	set(u, "labels", labels)
	set(u, "annotations", annotations)
}

func set(u *unstructured.Unstructured, field string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	m := u.Object["metadata"].(map[string]any)
	entries, ok := m[field].(map[string]any)
	if !ok {
		entries = make(map[string]any, len(values))
		m[field] = entries
	}
	for k, v := range values {
		entries[k] = v
	}
}

// AddFinalizer adds a finalizer to u unless it is there.
func AddFinalizer(u *unstructured.Unstructured, name string) {
	if fs := u.GetFinalizers(); !slices.Contains(fs, name) {
		u.SetFinalizers(append(fs, name))
	}
}
