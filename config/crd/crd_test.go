package crd_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Every definition passes what the API server checks when it is created: its
// schema is structural, its CEL compiles and is inside the cost limits.
func TestDefinitionsAreValid(t *testing.T) {
	for _, file := range definitions(t) {
		t.Run(file, func(t *testing.T) {
			crd := read(t, file)
			for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), crd) {
				t.Error(err)
			}
		})
	}
}

// `kubectl explain` has something to say about every field.
func TestFieldsAreDocumented(t *testing.T) {
	for _, file := range definitions(t) {
		t.Run(file, func(t *testing.T) {
			undocumented(t, "", common(t, read(t, file)))
		})
	}
}

// undocumented reports the fields below schema that have no description; path
// names the schema.
func undocumented(t *testing.T, path string, schema *apiextensions.JSONSchemaProps) {
	t.Helper()
	for name, p := range schema.Properties {
		if p.Description == "" && path+"."+name != ".metadata" {
			t.Errorf("%s.%s has no description", path, name)
		}
		undocumented(t, path+"."+name, &p)
	}
	if schema.Items != nil {
		undocumented(t, path+"[]", schema.Items.Schema)
	}
}

// The kustomization lists every definition that users may have.
func TestKustomizationIsComplete(t *testing.T) {
	data, err := os.ReadFile("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var k struct{ Resources []string }
	if err := yaml.Unmarshal(data, &k); err != nil {
		t.Fatal(err)
	}
	slices.Sort(k.Resources)
	if want := definitions(t); !slices.Equal(k.Resources, want) {
		t.Errorf("kustomization.yaml lists %q, want %q", k.Resources, want)
	}
}

// The names by which people and other programs find an ArtifactGenerator.
func TestR6Names(t *testing.T) {
	crd := read(t, generators)
	if got := crd.Spec.Names.ShortNames; !slices.Equal(got, []string{"ag"}) {
		t.Errorf("short names are %q", got)
	}
	if got := crd.Spec.Names.Categories; !slices.Equal(got, []string{"all", "fluxcd", "fluxcd-sources"}) {
		t.Errorf("categories are %q", got)
	}
	if got := crd.Annotations["kustomize.toolkit.fluxcd.io/substitute"]; got != "disabled" {
		t.Errorf("variable substitution is %q, want it disabled", got)
	}
	var columns []string
	for _, c := range crd.Spec.AdditionalPrinterColumns {
		columns = append(columns, c.Name)
	}
	if !slices.Equal(columns, []string{"Age", "Ready", "Status"}) {
		t.Errorf("columns are %q", columns)
	}
	if crd.Spec.Subresources == nil || crd.Spec.Subresources.Status == nil {
		t.Error("there is no status subresource")
	}
}

// definitions returns the sorted file names of all definitions.
func definitions(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %q, error %v", files, err)
	}
	slices.Sort(files)
	return files
}

// read returns the definition in file with the defaults that the API server
// gives it.
func read(t *testing.T, file string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v1 apiextv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &v1); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	scheme.Default(&v1)
	v1.Status.StoredVersions = []string{v1.Spec.Versions[0].Name}
	var crd apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&v1, &crd, nil); err != nil {
		t.Fatal(err)
	}
	return &crd
}

// common returns the schema of all versions of a definition, which it has if
// there is only one version.
func common(t *testing.T, crd *apiextensions.CustomResourceDefinition) *apiextensions.JSONSchemaProps {
	t.Helper()
	if crd.Spec.Validation == nil {
		t.Fatalf("%s has no schema common to all versions", crd.Name)
	}
	return crd.Spec.Validation.OpenAPIV3Schema
}
