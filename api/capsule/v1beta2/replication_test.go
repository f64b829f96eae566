package v1beta2_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
)

// A document of a replication decodes strictly, and nothing of it is lost.
func TestDocuments(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no documents, error %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			obj, _, err := decoder.Decode(data, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := sigsyaml.Marshal(obj.DeepCopyObject())
			if err != nil {
				t.Fatal(err)
			}
			var want, got map[string]any
			for _, err := range []error{yaml.Unmarshal(data, &want), yaml.Unmarshal(text, &got)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("document changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPeriod(t *testing.T) {
	tests := map[string]struct {
		want  time.Duration
		fails bool
	}{
		"":              {want: time.Minute},
		"60s":           {want: time.Minute},
		"720h":          {want: 720 * time.Hour},
		"0s":            {},
		"0":             {},
		"-5m":           {},
		"30d":           {fails: true},
		"99999999999h":  {fails: true},
		"1h30m":         {want: 90 * time.Minute},
		"often":         {fails: true},
		"100000000000s": {fails: true},
	}
	for text, want := range tests {
		s := v1beta2.ReplicationSpec{ResyncPeriod: text}
		got, err := s.Period()
		if got != want.want || (err != nil) != want.fails {
			t.Errorf("%q is %s, error %v", text, got, err)
		}
	}
}

// R13: sources by name may be missing unless it is said that they may not.
func TestIsOptional(t *testing.T) {
	for value, want := range map[*bool]bool{nil: true, new(true): true, new(false): false} {
		if got := (&v1beta2.Reference{Optional: value}).IsOptional(); got != want {
			t.Errorf("%v is %t", value, got)
		}
	}
}

func TestConditions(t *testing.T) {
	g, r := &v1beta2.GlobalTenantResource{}, &v1beta2.TenantResource{}
	g.SetConditions(nil)
	r.SetConditions(g.GetConditions())
	if len(r.GetConditions()) != 0 {
		t.Error("there are conditions")
	}
}
