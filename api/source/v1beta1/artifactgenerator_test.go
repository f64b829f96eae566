package v1beta1_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// A document decodes strictly, and nothing of it is lost.
func TestDocuments(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
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
			obj, kind, err := decoder.Decode(data, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := v1beta1.GroupVersion.WithKind(v1beta1.KindArtifactGenerator); *kind != want {
				t.Errorf("kind is %s, want %s", kind, want)
			}
			got, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj.DeepCopyObject())
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := yaml.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("document changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInterval(t *testing.T) {
	tests := map[string]time.Duration{
		"":      time.Hour,
		"10m":   10 * time.Minute,
		"1h30m": 90 * time.Minute,
		"1ns":   time.Nanosecond,
		"0s":    time.Hour,
		"-5m":   time.Hour,
		"10":    time.Hour,
		"often": time.Hour,
	}
	for value, want := range tests {
		g := &v1beta1.ArtifactGenerator{}
		if value != "" {
			g.Annotations = map[string]string{v1beta1.AnnotationReconcileEvery: value}
		}
		if got := g.Interval(); got != want {
			t.Errorf("interval of %q is %s, want %s", value, got, want)
		}
	}
}

func TestIsDisabled(t *testing.T) {
	tests := map[string]bool{"": false, "Enabled": false, "no": false, "Disabled": true, "disabled": true, "DISABLED": true}
	for value, want := range tests {
		g := &v1beta1.ArtifactGenerator{}
		g.Annotations = map[string]string{v1beta1.AnnotationReconcile: value}
		if got := g.IsDisabled(); got != want {
			t.Errorf("disabled by %q is %t, want %t", value, got, want)
		}
	}
	if (&v1beta1.ArtifactGenerator{}).IsDisabled() {
		t.Error("a generator without annotations is disabled")
	}
}

// R7: an entry without a kind is an artifact.
func TestInventoryEntryIsArtifact(t *testing.T) {
	tests := map[v1beta1.InventoryKind]bool{"": true, v1beta1.InventoryArtifact: true, v1beta1.InventoryNamespace: false}
	for kind, want := range tests {
		if got := (v1beta1.InventoryEntry{Kind: kind}).IsArtifact(); got != want {
			t.Errorf("kind %q is an artifact: %t, want %t", kind, got, want)
		}
	}
}

func TestConditions(t *testing.T) {
	g := &v1beta1.ArtifactGenerator{}
	g.SetConditions([]metav1.Condition{{Type: v1beta1.ConditionReady}})
	if diff := cmp.Diff(g.Status.Conditions, g.GetConditions()); diff != "" || len(g.GetConditions()) != 1 {
		t.Errorf("conditions are %v", g.GetConditions())
	}
}
