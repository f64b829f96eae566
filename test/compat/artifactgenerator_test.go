// Package compat holds Weir's API types against those of source-watcher.
package compat

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	upstream "github.com/fluxcd/source-watcher/api/v2/v1beta1"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// The kinds have the same fields in JSON, at the same paths.
func TestFields(t *testing.T) {
	tests := map[string]struct{ ours, theirs any }{
		"ArtifactGenerator": {v1beta1.ArtifactGenerator{}, upstream.ArtifactGenerator{}},
		"NamespaceMetadata": {v1beta1.NamespaceMetadata{}, upstream.NamespaceMetadata{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ours, theirs := fields(reflect.TypeOf(test.ours)), fields(reflect.TypeOf(test.theirs))
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("fields (-source-watcher +weir):\n%s", diff)
			}
		})
	}
}

// fields returns the sorted paths of the JSON fields of a struct type, with the
// kinds of their leaves.
func fields(typ reflect.Type) []string {
	var paths []string
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		elem, suffix := f.Type, ""
		for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
			if elem.Kind() == reflect.Slice {
				suffix = "[]" // no field is a list of lists
			}
			elem = elem.Elem()
		}
		switch {
		case elem.Kind() != reflect.Struct || elem.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1" && name != "":
			paths = append(paths, name+suffix+" "+elem.Kind().String())
		case strings.Contains(options, "inline"):
			paths = append(paths, fields(elem)...)
		default:
			for _, p := range fields(elem) {
				paths = append(paths, name+suffix+"."+p)
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// Whatever source-watcher writes, Weir reads strictly and writes unchanged, and
// the other way round.
func TestRoundTrip(t *testing.T) {
	fill := randfill.NewWithSeed(1).NilChance(0.3).NumElements(0, 3).MaxDepth(20).
		SkipFieldsWithPattern(regexp.MustCompile("^ManagedFields$")) // random bytes are no field set
	for range 500 {
		var theirs upstream.ArtifactGenerator
		fill.Fill(&theirs)
		through[v1beta1.ArtifactGenerator](t, theirs)

		var ours v1beta1.ArtifactGenerator
		fill.Fill(&ours)
		through[upstream.ArtifactGenerator](t, ours)

		var file upstream.NamespaceMetadata
		fill.Fill(&file)
		through[v1beta1.NamespaceMetadata](t, file)
	}
}

// through fails the test unless value survives in JSON what T reads and writes.
func through[T any](t *testing.T, value any) {
	t.Helper()
	want, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var read T
	if err := yaml.UnmarshalStrict(want, &read); err != nil {
		t.Fatalf("%v in\n%s", err, want)
	}
	got, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document(t, want), document(t, got)); diff != "" {
		t.Fatalf("document changed (-want +got):\n%s", diff)
	}
}

// document returns JSON as a value whose fields have no order.
func document(t *testing.T, data []byte) (doc any) {
	t.Helper()
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// The names that both match on are the same.
func TestNames(t *testing.T) {
	same := [][2]string{
		{v1beta1.GroupVersion.String(), upstream.GroupVersion.String()},
		{v1beta1.KindArtifactGenerator, upstream.ArtifactGeneratorKind},
		{v1beta1.KindNamespaceMetadata, upstream.NamespaceMetadataKind},
		{v1beta1.Finalizer, upstream.Finalizer},
		{v1beta1.LabelGenerator, upstream.ArtifactGeneratorLabel},
		{v1beta1.OriginRevisionKey, upstream.ArtifactOriginRevisionAnnotation},
		{v1beta1.ArtifactAlias, upstream.ArtifactAlias},
		{v1beta1.AnnotationReconcile, upstream.ReconcileAnnotation},
		{v1beta1.AnnotationReconcileEvery, upstream.ReconcileEveryAnnotation},
		{v1beta1.AnnotationPrune, upstream.PruneAnnotation},
		{v1beta1.AnnotationSSA, upstream.SSAAnnotation},
		{v1beta1.AnnotationExternalFinalizer, upstream.ExternalFinalizerAnnotation},
		{v1beta1.ValueEnabled, upstream.EnabledValue},
		{v1beta1.ValueDisabled, upstream.DisabledValue},
		{v1beta1.ValueMerge, upstream.MergeValue},
		{v1beta1.ValueIfNotPresent, upstream.IfNotPresentValue},
		{v1beta1.ValueIgnore, upstream.IgnoreValue},
		{v1beta1.ReasonReconciliationDisabled, upstream.ReconciliationDisabledReason},
		{v1beta1.ReasonAccessDenied, upstream.AccessDeniedReason},
		{v1beta1.ReasonValidationFailed, upstream.ValidationFailedReason},
		{v1beta1.ReasonSourceFetchFailed, upstream.SourceFetchFailedReason},
		{v1beta1.ReasonOwnershipConflict, upstream.OwnershipConflictReason},
		{v1beta1.ReasonAdopted, upstream.AdoptedReason},
		{string(v1beta1.CopyOverwrite), upstream.OverwriteStrategy},
		{string(v1beta1.CopyMerge), upstream.MergeStrategy},
		{string(v1beta1.CopyExtract), upstream.ExtractStrategy},
		{string(v1beta1.MetadataReset), upstream.NamespaceMetadataResetStrategy},
		{string(v1beta1.MetadataOverride), upstream.OverrideStrategy},
		{string(v1beta1.MetadataMerge), upstream.MergeStrategy},
		{string(v1beta1.InventoryNamespace), upstream.NamespaceKind},
	}
	for _, names := range same {
		if names[0] != names[1] {
			t.Errorf("%q is %q in source-watcher", names[0], names[1])
		}
	}
}
