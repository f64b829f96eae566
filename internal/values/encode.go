package values

import (
	"bytes"
	"errors"

	"go.yaml.in/yaml/v3"
)

// encode returns n as text. Comments stay unless they would change what the
// text says: the encoder does not always find a safe place for them.
func encode(n *yaml.Node) ([]byte, error) {
	out, err := write(n)
	if err == nil && says(out, n) {
		return out, nil
	}
	plain := stripped(n)
	if out, err = write(plain); err != nil {
		return nil, err
	}
	if !says(out, n) {
		return nil, errors.New("the result cannot be written as YAML")
	}
	return out, nil
}

func write(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// says reports whether text reads as n again.
func says(text []byte, n *yaml.Node) bool {
	var doc yaml.Node
	return yaml.Unmarshal(text, &doc) == nil && len(doc.Content) == 1 && equal(doc.Content[0], n)
}

func equal(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !equal(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// stripped returns a copy of n without comments.
func stripped(n *yaml.Node) *yaml.Node {
	out := *n
	out.HeadComment, out.LineComment, out.FootComment = "", "", ""
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out.Content[i] = stripped(c)
	}
	return &out
}
