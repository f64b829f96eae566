package namespace

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/json"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/metadata"
	"github.com/weir-dev/weir/internal/values"
)

// MaxFile is how many bytes a NamespaceMetadata file may have.
const MaxFile = 256 << 10

// fromFile returns what a NamespaceMetadata file asks for and may set: keys
// that no rule is for are left out, a value that its rule refuses is an error.
func (p *Policy) fromFile(data []byte) (metadata.Set, error) {
	if data == nil {
		return metadata.Set{}, nil
	}
	m, err := parse(data)
	if err != nil {
		return metadata.Set{}, err
	}
	labels, err := allowed(m.Metadata.Labels, p.labels)
	if err != nil {
		return metadata.Set{}, fmt.Errorf("metadata.labels: %w", err)
	}
	annotations, err := allowed(m.Metadata.Annotations, p.annotations)
	if err != nil {
		return metadata.Set{}, fmt.Errorf("metadata.annotations: %w", err)
	}
	out := metadata.Set{Labels: labels, Annotations: annotations}
	return out, out.Check()
}

// parse reads a file strictly: a field that does not exist would otherwise be
// metadata that silently never arrives.
func parse(data []byte) (*v1beta1.NamespaceMetadata, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%d bytes are too many for namespace metadata: at most %d", len(data), MaxFile)
	}
	raw, err := values.JSON(data)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, errors.New("the file is empty, want a NamespaceMetadata document")
	}
	var m v1beta1.NamespaceMetadata
	unknown, err := json.UnmarshalStrict(raw, &m)
	if err != nil {
		return nil, err
	}
	if m.Kind != v1beta1.KindNamespaceMetadata || m.APIVersion != v1beta1.GroupVersion.String() {
		return nil, fmt.Errorf("apiVersion %q and kind %q, want %q and %q",
			m.APIVersion, m.Kind, v1beta1.GroupVersion, v1beta1.KindNamespaceMetadata)
	}
	return &m, fail.Join(unknown...)
}

func allowed(asked map[string]string, rules map[string]rule) (map[string]string, error) {
	out := map[string]string{}
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		r, known := rules[key]
		if !known {
			continue
		}
		ok, err := r.accepts(asked[key])
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", key, err))
		case !ok:
			problems = append(problems, fmt.Errorf("%s: the value %q is refused by %q", key, asked[key], r.text))
		default:
			out[key] = asked[key]
		}
	}
	return out, fail.Join(problems...)
}
