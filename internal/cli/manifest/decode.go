package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
)

// split returns the documents of a file.
func split(data []byte) [][]byte {
	var out [][]byte
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		// Bytes in memory fail with nothing but their end.
		doc, err := docs.Read()
		if err != nil {
			return out
		}
		if len(bytes.TrimSpace(doc)) > 0 {
			out = append(out, doc)
		}
	}
}

// header is what tells objects apart.
type header struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct{ Name, Namespace string } `json:"metadata"`
	Items           []json.RawMessage                `json:"items"`
}

// document keeps the generators of one document.
func (l *loader) document(place string, doc []byte) {
	data := doc
	if !json.Valid(doc) {
		var err error
		if data, err = yaml.YAMLToJSON(doc); err != nil {
			l.add(place, Generator{Invalid: invalid(place, err)})
			return
		}
	}
	var h header
	if err := json.Unmarshal(data, &h); err != nil || h.Kind == "" {
		return // something, but not an object
	}
	if strings.HasSuffix(h.Kind, "List") && h.Items != nil {
		for i, item := range h.Items {
			l.document(fmt.Sprintf("%s: items[%d]", place, i), item)
		}
		return
	}
	err := known(h)
	if err == nil && h.Kind != v1beta1.KindArtifactGenerator {
		l.kinds[h.Kind] = true
		return
	}
	var g Generator
	if err == nil {
		err = strictly(doc, &g.Object)
	}
	if g.Object.Name, g.Object.Namespace = h.Metadata.Name, h.Metadata.Namespace; g.Object.Namespace == "" {
		g.Object.Namespace = metav1.NamespaceDefault
	}
	if err == nil {
		err = checkNames(g.Object.ObjectMeta)
	}
	if err != nil {
		g.Invalid = invalid(place, err)
	}
	l.add(place, g)
}

// known finds slips in the header that would make a generator seem to be
// somebody else's object.
func known(h header) error {
	gv, err := schema.ParseGroupVersion(h.APIVersion)
	ours := err == nil && gv.Group == v1beta1.GroupVersion.Group
	switch {
	case ours && h.Kind == v1beta1.KindNamespaceMetadata:
		return nil
	case ours && h.Kind != v1beta1.KindArtifactGenerator:
		return fmt.Errorf("kind: %q is not of the group %s; there are %s and %s",
			h.Kind, gv.Group, v1beta1.KindArtifactGenerator, v1beta1.KindNamespaceMetadata)
	case h.Kind == v1beta1.KindArtifactGenerator && gv != v1beta1.GroupVersion:
		return fmt.Errorf("apiVersion: %q is not known of an %s, want %s", h.APIVersion, h.Kind, v1beta1.GroupVersion)
	default:
		return nil
	}
}

// strictly decodes an object as an API server does that refuses unknown and
// repeated fields: a misspelt field would silently do nothing.
func strictly(doc []byte, into any) error {
	data := doc
	if !json.Valid(doc) {
		var err error
		if data, err = yaml.YAMLToJSONStrict(doc); err != nil {
			return err
		}
	}
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return mistyped(data, into, err)
	}
	return fail.Join(strict...)
}

// mistyped says what a field of the wrong type should hold, without the names
// of Go's types.
func mistyped(data []byte, into any, err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(data, into))
	if !ok {
		return err
	}
	var want string
	switch wrong.Type.Kind() {
	case reflect.Slice:
		want = "a list"
	case reflect.Map, reflect.Struct:
		want = "a mapping"
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	default:
		want = "a number"
	}
	have := map[string]string{"object": "a mapping", "array": "a list", "string": "a string", "bool": "true or false"}[wrong.Value]
	if have == "" {
		have = "a number"
	}
	return fmt.Errorf("%s: want %s, not %s", wrong.Field, want, have)
}

// checkNames refuses names that no object can have.
func checkNames(m metav1.ObjectMeta) error {
	if m.Name == "" {
		return fmt.Errorf("metadata.name: an %s needs a name", v1beta1.KindArtifactGenerator)
	}
	if msgs := validation.IsDNS1123Subdomain(m.Name); len(msgs) > 0 {
		return fmt.Errorf("metadata.name: %q: %s", m.Name, brief(msgs[0]))
	}
	if msgs := validation.IsDNS1123Label(m.Namespace); len(msgs) > 0 {
		return fmt.Errorf("metadata.namespace: %q: %s", m.Namespace, brief(msgs[0]))
	}
	return nil
}

// brief cuts the regular expression off.
func brief(message string) string {
	message, _, _ = strings.Cut(message, " (e.g.")
	return message
}

// invalid says on one line what is wrong with the document at a place.
func invalid(place string, err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = strings.TrimPrefix(text, "error converting YAML to JSON: ")
	text = strings.Replace(text, "yaml: unmarshal errors: ", "yaml: ", 1)
	return fail.Stalled(v1beta1.ReasonValidationFailed, "%s: %s", place, text)
}
