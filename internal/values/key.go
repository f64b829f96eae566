package values

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// nameOf returns the name that a key has for Kubernetes and Helm, which read
// YAML 1.1 as JSON: yes, on and true are all "true", and 0x10 is "16".
func nameOf(key *yaml.Node) string {
	if key.ShortTag() == "!!str" && (key.Style != 0 || !isOldBool(key.Value)) {
		return key.Value
	}
	plain := *key
	plain.HeadComment, plain.LineComment, plain.FootComment, plain.Anchor = "", "", "", ""
	text, err := write(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{&plain, {Kind: yaml.ScalarNode, Value: "0"}}})
	if err != nil {
		return key.Value
	}
	raw, err := sigsyaml.YAMLToJSON(text)
	var named map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &named) != nil {
		return key.Value
	}
	for name := range named {
		return name
	}
	return key.Value
}

// isOldBool reports whether YAML 1.1 takes a plain text for a boolean.
func isOldBool(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return false
}
