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

// document reads the objects of one document.
func (r *reader) document(place string, doc []byte) {
	data := doc
	if !json.Valid(doc) {
		var err error
		if data, err = yaml.YAMLToJSON(doc); err != nil {
			r.broken(place, err)
			return
		}
	}
	var h header
	if err := json.Unmarshal(data, &h); err != nil || h.Kind == "" {
		return // something, but not an object
	}
	if strings.HasSuffix(h.Kind, "List") && h.Items != nil {
		for i, item := range h.Items {
			r.document(fmt.Sprintf("%s: items[%d]", place, i), item)
		}
		return
	}
	r.take(place, doc, h)
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

// checkNames refuses names that no object can have. The namespace may be empty.
func checkNames(what, name, namespace string) error {
	if name == "" {
		return fmt.Errorf("metadata.name: %s needs a name", what)
	}
	if msgs := validation.IsDNS1123Subdomain(name); len(msgs) > 0 {
		return fmt.Errorf("metadata.name: %q: %s", name, brief(msgs[0]))
	}
	if msgs := validation.IsDNS1123Label(namespace); namespace != "" && len(msgs) > 0 {
		return fmt.Errorf("metadata.namespace: %q: %s", namespace, brief(msgs[0]))
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
