package docs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// Each file ok/NAME of the archive is a NamespaceMetadata that the published
// schema accepts and the Go type decodes; each file bad/NAME is one that the
// schema refuses.
func TestNamespaceMetadata(t *testing.T) {
	data, err := os.ReadFile("namespacemetadata-v1beta1.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema spec.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata", "namespacemetadata.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		t.Run(f.Name, func(t *testing.T) {
			var doc any
			if err := yaml.Unmarshal(f.Data, &doc); err != nil {
				t.Fatal(err)
			}
			result := validate.NewSchemaValidator(&schema, nil, "", strfmt.Default).Validate(doc)
			if strings.HasPrefix(f.Name, "bad/") {
				if result.IsValid() {
					t.Error("it is accepted")
				}
				return
			}
			if err := result.AsError(); err != nil {
				t.Error(err)
			}
			if err := yaml.UnmarshalStrict(f.Data, &v1beta1.NamespaceMetadata{}); err != nil {
				t.Error(err)
			}
		})
	}
}
