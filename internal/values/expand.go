package values

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// maxAliased is how many values the aliases of a document may stand for: a few
// lines can otherwise stand for more than any memory holds.
const maxAliased = 1 << 16

// expand returns a copy of n without anchors, aliases and merge keys, and with
// every key once.
func expand(n *yaml.Node) (*yaml.Node, error) {
	x := expander{open: map[*yaml.Node]bool{}}
	return x.node(n)
}

type expander struct {
	count int                 // values that aliases stood for so far
	depth int                 // of aliases that we are inside of
	open  map[*yaml.Node]bool // the anchored nodes that we are inside of
}

func (x *expander) node(n *yaml.Node) (*yaml.Node, error) {
	if x.depth > 0 {
		x.count++
	}
	if x.count > maxAliased {
		return nil, fmt.Errorf("the aliases stand for more than %d values", maxAliased)
	}
	if n.Kind == yaml.AliasNode {
		x.depth++
		defer func() { x.depth-- }()
		return x.node(n.Alias)
	}
	if x.open[n] {
		return nil, fmt.Errorf("line %d: the anchor %q contains itself", n.Line, n.Anchor)
	}
	if n.Anchor != "" {
		x.open[n] = true
		defer delete(x.open, n)
	}
	out := *n
	out.Anchor, out.Content = "", nil
	if n.Kind == yaml.MappingNode {
		return &out, x.mapping(&out, n)
	}
	for _, c := range n.Content {
		e, err := x.node(c)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, e)
	}
	return &out, nil
}

// mapping fills out with the entries of n, in their order, of which later ones
// win. That holds for a merge key too, as it does for Helm: it replaces what
// stands before it.
func (x *expander) mapping(out, n *yaml.Node) error {
	at := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		key, err := x.node(n.Content[i])
		if err != nil {
			return err
		}
		value, err := x.node(n.Content[i+1])
		if err != nil {
			return err
		}
		if key.ShortTag() == "!!merge" {
			if err := mergeInto(out, at, value); err != nil {
				return fmt.Errorf("line %d: %w", value.Line, err)
			}
			continue
		}
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key is a %s, want a scalar", key.Line, kind(key))
		}
		put(out, at, key, value)
	}
	return nil
}

// mergeInto adds what a merge key names: a mapping, or a list of mappings of
// which earlier ones win.
func mergeInto(out *yaml.Node, at map[string]int, m *yaml.Node) error {
	if m.Kind == yaml.SequenceNode {
		for _, c := range slices.Backward(m.Content) {
			if c.Kind != yaml.MappingNode {
				return errNoMapping
			}
			if err := mergeInto(out, at, c); err != nil {
				return err
			}
		}
		return nil
	}
	if m.Kind != yaml.MappingNode {
		return errNoMapping
	}
	for i := 0; i < len(m.Content); i += 2 {
		put(out, at, m.Content[i], m.Content[i+1])
	}
	return nil
}

var errNoMapping = errors.New("the merge key << wants a mapping or a list of mappings")

// put adds an entry, or replaces the one of the same key.
func put(out *yaml.Node, at map[string]int, key, value *yaml.Node) {
	name := nameOf(key)
	if i, ok := at[name]; ok {
		out.Content[i+1] = value
		return
	}
	at[name] = len(out.Content)
	out.Content = append(out.Content, key, value)
}
