// Package library is the functions of generators that sprig does not have. They
// bound nothing; package template does.
package library

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"filippo.io/age"
	"github.com/BurntSushi/toml"
	"github.com/google/uuid"
	"sigs.k8s.io/yaml"
)

// Functions returns the functions by their names.
func Functions() template.FuncMap {
	return template.FuncMap{
		"toYaml": toYAML, "mustToYaml": mustToYAML,
		"fromYaml": fromYAML, "mustFromYaml": mustFromYAML, "fromYamlArray": fromYAMLArray,
		"fromJsonArray": fromYAMLArray,
		"toToml":        toTOML, "mustToToml": mustToTOML,
		"fromToml": fromTOML,

		"deterministicUUID": deterministicUUID,
		"generateAgeKey":    generateAgeKey,
		"generateAgePQKey":  generateAgePQKey,

		"getResourceByName":           getResourceByName,
		"mustGetResourceByName":       mustGetResourceByName,
		"getResourceByNamespacedName": getResourceByNamespacedName,
	}
}

// AgeKey is a new key of age.
type AgeKey struct {
	// Identity is the secret key, AGE-SECRET-KEY-….
	Identity string
	// Recipient is the public key, age1….
	Recipient string
}

func generateAgeKey() (AgeKey, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return AgeKey{}, err
	}
	return AgeKey{Identity: id.String(), Recipient: id.Recipient().String()}, nil
}

// generateAgePQKey returns a key that withstands quantum computers.
func generateAgePQKey() (AgeKey, error) {
	id, err := age.GenerateHybridIdentity()
	if err != nil {
		return AgeKey{}, err
	}
	return AgeKey{Identity: id.String(), Recipient: id.Recipient().String()}, nil
}

// deterministicUUID returns a UUID that depends on the arguments alone.
func deterministicUUID(parts ...any) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = fmt.Sprint(p)
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(strings.Join(texts, "\x00"))).String()
}

func toYAML(v any) string { s, _ := mustToYAML(v); return s }

// mustToYAML returns the text without the line end, as Helm does, so that it
// can be indented.
func mustToYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

// fromYAML returns a mapping, empty when s is none.
func fromYAML(s string) map[string]any {
	m, err := mustFromYAML(s)
	if err != nil {
		return map[string]any{}
	}
	return m
}

func mustFromYAML(s string) (map[string]any, error) {
	m := map[string]any{}
	err := yaml.Unmarshal([]byte(s), &m)
	return m, err
}

// fromYAMLArray returns a list, empty when s is none.
func fromYAMLArray(s string) []any {
	list := []any{}
	if yaml.Unmarshal([]byte(s), &list) != nil {
		return []any{}
	}
	return list
}

func toTOML(v any) string { s, _ := mustToTOML(v); return s }

func mustToTOML(v any) (string, error) {
	var b bytes.Buffer
	err := toml.NewEncoder(&b).Encode(v)
	return b.String(), err
}

// fromTOML returns a mapping, empty when s is none.
func fromTOML(s string) map[string]any {
	m := map[string]any{}
	if _, err := toml.Decode(s, &m); err != nil {
		return map[string]any{}
	}
	return m
}

// getResourceByName returns the first object of a list of the context with that
// name, an empty one when there is none. List and name may come in any order,
// so that both can be piped.
func getResourceByName(a, b any) (map[string]any, error) {
	o, err := pick([]any{a, b})
	return orEmpty(o), err
}

func mustGetResourceByName(a, b any) (map[string]any, error) {
	o, err := pick([]any{a, b})
	if err == nil && o == nil {
		err = fmt.Errorf("no object has that name: %v", texts(a, b))
	}
	return o, err
}

// getResourceByNamespacedName is like getResourceByName with a namespace, which
// comes before the name.
func getResourceByNamespacedName(a, b, c any) (map[string]any, error) {
	o, err := pick([]any{a, b, c})
	return orEmpty(o), err
}

func orEmpty(o map[string]any) map[string]any {
	if o == nil {
		return map[string]any{}
	}
	return o
}

func texts(args ...any) []string {
	var out []string
	for _, a := range args {
		if s, ok := a.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// pick returns the first object of the one list among the arguments that has
// the name, and namespace, among them.
func pick(args []any) (map[string]any, error) {
	var list []any
	for _, a := range args {
		switch a := a.(type) {
		case string, nil:
		case []any:
			list = a
		default:
			return nil, fmt.Errorf("want a list of objects and strings, and not %T", a)
		}
	}
	names := texts(args...)
	if len(names) != len(args)-1 {
		return nil, errors.New("want one list of objects, and strings beside it")
	}
	for _, e := range list {
		o, ok := e.(map[string]any)
		if !ok {
			continue
		}
		meta, _ := o["metadata"].(map[string]any)
		if meta["name"] == names[len(names)-1] && (len(names) == 1 || meta["namespace"] == names[0]) {
			return o, nil
		}
	}
	return nil, nil
}
