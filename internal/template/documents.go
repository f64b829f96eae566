package template

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// documents returns the manifests of a YAML stream, at most so many.
func documents(text []byte, most int) ([]map[string]any, error) {
	var out []map[string]any
	r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		m, err := manifest(doc)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if m == nil {
			continue
		}
		if len(out) == most {
			return nil, fmt.Errorf("more than %d documents", most)
		}
		out = append(out, m)
	}
}

// manifest returns the mapping that is in a document, nil when there is none or
// it is no manifest at all.
func manifest(doc []byte) (map[string]any, error) {
	raw, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " ")) // on one line
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("is no mapping")
	}
	version, kind := m["apiVersion"], m["kind"]
	switch {
	case isBlank(version) && isBlank(kind):
		return nil, nil
	case isBlank(version) || isBlank(kind):
		return nil, fmt.Errorf("apiVersion %v and kind %v: want both", version, kind)
	}
	return m, nil
}

func isBlank(v any) bool { return v == nil || v == "" }
