package main

import (
	"bytes"
	"os"
	"testing"
)

// The published schema is what `make generate` makes of the type.
func TestPublishedSchema(t *testing.T) {
	want, err := os.ReadFile("../../../docs/namespacemetadata-v1beta1.json")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := run(&got, "../../../api/source/v1beta1", "NamespaceMetadata"); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("docs/namespacemetadata-v1beta1.json is stale: run make generate\n%s", &got)
	}
}

func TestUnknownType(t *testing.T) {
	if err := run(&bytes.Buffer{}, "../../../api/source/v1beta1", "Nothing"); err == nil {
		t.Error("a type that does not exist has a schema")
	}
}
