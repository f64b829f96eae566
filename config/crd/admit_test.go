package crd_test

import (
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// server validates objects of one definition as the API server does.
type server struct {
	schema  *schema.Structural
	openAPI validation.SchemaValidator
	cel     *cel.Validator
}

// serve returns a server for the only version of the definition in file.
func serve(t *testing.T, file string) *server {
	t.Helper()
	props := common(t, read(t, file))
	structural, err := schema.NewStructural(props)
	if err != nil {
		t.Fatal(err)
	}
	openAPI, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}
	return &server{
		schema:  structural,
		openAPI: openAPI,
		cel:     cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}
}

// admit returns the sorted reasons for which the server refuses obj, a field
// that it does not know among them. CEL is evaluated only on an object that the
// schema accepts.
func (s *server) admit(t *testing.T, obj map[string]any) []string {
	t.Helper()
	var errs []string
	unknown := pruning.PruneWithOptions(runtime.DeepCopyJSON(obj), s.schema, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		errs = append(errs, "unknown field "+path)
	}
	for _, err := range validation.ValidateCustomResource(nil, obj, s.openAPI) {
		errs = append(errs, err.Error())
	}
	for _, err := range listtype.ValidateListSetsAndMaps(nil, s.schema, obj) {
		errs = append(errs, err.Error())
	}
	if len(errs) == 0 {
		cels, _ := s.cel.Validate(t.Context(), nil, s.schema, obj, nil, celconfig.RuntimeCELCostBudget)
		for _, err := range cels {
			errs = append(errs, err.Error())
		}
	}
	slices.Sort(errs)
	return errs
}
