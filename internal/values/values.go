// Package values merges YAML files the way Helm merges several values files:
// mappings merge, everything else is replaced, and null stays an explicit null.
// It merges texts, not Go values, so that numbers, strings, the order of keys
// and comments stay as they were written. It knows no files or charts.
package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// Merge lays the YAML over on top of base and returns one document. Both may
// be streams of several documents, which are folded in order by the same rule;
// empty ones count as empty mappings. A document that is no mapping is an
// error. Anchors and merge keys are expanded. Keys are the same when Helm takes
// them for the same, however they are written; one that stands twice counts as
// its last. When both are empty the result is "{}".
func Merge(base, over []byte) ([]byte, error) {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, in := range []struct {
		what string
		data []byte
	}{{"the file that is there", base}, {"the file to merge", over}} {
		docs, err := documents(in.data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.what, err)
		}
		for _, d := range docs {
			out = merge(out, d)
		}
	}
	return encode(out)
}

// JSON returns the one mapping that data holds as JSON, with scalars typed as
// Kubernetes and Helm type them (YAML 1.1) and integers exact. It returns nil
// when there is no document or only empty ones. Several documents, and one
// that is no mapping, are errors.
func JSON(data []byte) ([]byte, error) {
	docs, err := documents(data)
	if err != nil {
		return nil, err
	}
	switch len(docs) {
	case 0:
		return nil, nil
	case 1:
		text, err := encode(docs[0])
		if err != nil {
			return nil, err
		}
		raw, err := sigsyaml.YAMLToJSON(text)
		if err != nil {
			return nil, err
		}
		return legible(raw)
	default:
		return nil, fmt.Errorf("want one document, have %d", len(docs))
	}
}

// legible returns JSON in which <, > and & stand for themselves: it is for
// objects and people, and no web page.
func legible(raw []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// documents returns the mappings of a stream, expanded, without empty ones.
func documents(data []byte) ([]*yaml.Node, error) {
	var out []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for n := 1; ; n++ {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		root, err := expand(doc.Content[0])
		switch {
		case err != nil:
			return nil, fmt.Errorf("document %d: %w", n, err)
		case root.ShortTag() == "!!null":
		case root.Kind != yaml.MappingNode:
			return nil, fmt.Errorf("document %d is a %s, want a mapping of keys to values", n, kind(root))
		case len(root.Content) > 0:
			root.HeadComment = doc.HeadComment
			out = append(out, root)
		}
	}
}

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "list"
	case yaml.MappingNode:
		return "mapping"
	default:
		return "scalar"
	}
}

// merge returns base with over laid on top. Neither changes.
func merge(base, over *yaml.Node) *yaml.Node {
	out := *base
	out.Content = append([]*yaml.Node(nil), base.Content...)
	at := index(out.Content)
	for i := 0; i < len(over.Content); i += 2 {
		key, value := over.Content[i], over.Content[i+1]
		j, ok := at[nameOf(key)]
		switch {
		case !ok:
			at[nameOf(key)] = len(out.Content)
			out.Content = append(out.Content, key, value)
		case out.Content[j+1].Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
			out.Content[j+1] = merge(out.Content[j+1], value)
		default:
			out.Content[j+1] = value
		}
	}
	if len(base.Content) == 0 {
		out.Style, out.HeadComment, out.FootComment = over.Style, over.HeadComment, over.FootComment
	}
	if len(over.Content) > 0 {
		out.Style &^= yaml.FlowStyle // {} with something in it
	}
	return &out
}

// index returns where in the content of a mapping each key stands.
func index(content []*yaml.Node) map[string]int {
	at := make(map[string]int, len(content)/2)
	for i := 0; i < len(content); i += 2 {
		at[nameOf(content[i])] = i
	}
	return at
}
