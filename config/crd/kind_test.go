package crd_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the errors wanted in testdata")

// kind is a kind with cases in the folder of its name in lower case.
type kind struct{ definition, apiVersion, name string }

// generators is the file of ArtifactGenerator's definition.
const generators = "source.extensions.fluxcd.io_artifactgenerators.yaml"

var kinds = []kind{
	{generators, "source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator"},
	{"capsule.clastix.io_tenants.yaml", "capsule.clastix.io/v1beta2", "Tenant"},
	{"capsule.clastix.io_tenantresources.yaml", "capsule.clastix.io/v1beta2", "TenantResource"},
	{"capsule.clastix.io_globaltenantresources.yaml", "capsule.clastix.io/v1beta2", "GlobalTenantResource"},
}

// Each archive in the folder of a kind is a requirement. Its file "base" is an
// object that the API server accepts; each other file is one that replaces
// fields of base's spec (null drops one) or its whole status. A file ok/NAME
// must be accepted; bad/NAME must be refused, for the reasons in
// bad/NAME.errors, which -update rewrites.
func TestKinds(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { k.run(t) })
	}
}

func (k kind) run(t *testing.T) {
	s := serve(t, k.definition)
	paths, err := filepath.Glob("testdata/" + strings.ToLower(k.name) + "/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("found no cases, error %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			k.runArchive(t, s, archive)
			if *update {
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// runArchive runs the cases of one requirement; with -update it changes the
// archive's wanted errors instead of comparing them.
func (k kind) runArchive(t *testing.T, s *server, archive *txtar.Archive) {
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	for i, f := range archive.Files {
		dir, _, _ := strings.Cut(f.Name, "/")
		if f.Name == "base" || strings.HasSuffix(f.Name, ".errors") {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			got := s.admit(t, k.object(t, files["base"], string(f.Data)))
			if (dir == "ok") != (len(got) == 0) {
				t.Errorf("refused for %q", got)
			}
			if dir == "ok" {
				return
			}
			text := strings.Join(got, "\n") + "\n"
			if *update && i+1 < len(archive.Files) && archive.Files[i+1].Name == f.Name+".errors" {
				archive.Files[i+1].Data = []byte(text)
				return
			}
			if diff := cmp.Diff(files[f.Name+".errors"], text); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// object returns the object in base, changed as change says.
func (k kind) object(t *testing.T, base, change string) map[string]any {
	t.Helper()
	var obj, patch struct{ Spec, Status map[string]any }
	for text, into := range map[string]any{base: &obj, change: &patch} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatalf("%v in\n%.300s", err, text)
		}
	}
	maps.Copy(obj.Spec, patch.Spec)
	maps.DeleteFunc(obj.Spec, func(_ string, v any) bool { return v == nil })
	out := map[string]any{
		"apiVersion": k.apiVersion,
		"kind":       k.name,
		"metadata":   map[string]any{"name": "gen", "namespace": "apps"},
		"spec":       obj.Spec,
	}
	if patch.Status != nil {
		out["status"] = patch.Status
	}
	return out
}
