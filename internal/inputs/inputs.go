// Package inputs reads the YAML file whose content an artifact exports.
package inputs

import (
	"encoding/json"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/weir-dev/weir/internal/tree"
	"github.com/weir-dev/weir/internal/values"
)

// MaxBytes is how large the file may be: its content becomes part of an
// object's status.
const MaxBytes = 1 << 20

// Read returns the top-level keys of the file at name and their values as
// JSON. The file must hold one YAML mapping; an empty file or mapping returns
// nil. Errors do not name the file.
func Read(t tree.Tree, name string) (map[string]apiextensionsv1.JSON, error) {
	e, ok := t.Lookup(name)
	switch {
	case !ok:
		return nil, errors.New("no such file")
	case e.IsDir():
		return nil, errors.New("a directory, want a YAML file")
	case e.Blob.Size() > MaxBytes:
		return nil, fmt.Errorf("%d bytes are too many: at most %d", e.Blob.Size(), MaxBytes)
	}
	data, err := e.Blob.ReadAll()
	if err != nil {
		return nil, err
	}
	raw, err := values.JSON(data)
	if err != nil || raw == nil {
		return nil, err
	}
	var out map[string]apiextensionsv1.JSON
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, err
	}
	return out, nil
}
