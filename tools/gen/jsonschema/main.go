// Command jsonschema prints the JSON schema of one Go type of an API package,
// as controller-gen reads it, for tools that validate files: the apiVersion and
// kind are fixed and required, and no object takes properties that it does not
// declare.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/tools/go/packages"
	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

func main() {
	dir := flag.String("dir", ".", "directory of the package that declares the type")
	name := flag.String("type", "", "name of the type")
	flag.Parse()
	if err := run(os.Stdout, *dir, *name); err != nil {
		fmt.Fprintln(os.Stderr, "jsonschema:", err)
		os.Exit(1)
	}
}

// run writes the schema of the type that the package in dir declares.
func run(w io.Writer, dir, name string) error {
	schema, err := load(dir, name)
	if err != nil {
		return err
	}
	closeObjects(schema)
	schema.Schema = "http://json-schema.org/draft-07/schema#"
	out, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", out)
	return err
}

// load returns the flattened schema of the type, with its apiVersion and kind
// fixed.
func load(dir, name string) (*apiext.JSONSchemaProps, error) {
	roots, err := loader.LoadRootsWithConfig(&packages.Config{Dir: dir}, ".")
	if err != nil {
		return nil, err
	}
	if len(roots) != 1 {
		return nil, fmt.Errorf("directory %q holds %d packages, want 1", dir, len(roots))
	}
	registry := &markers.Registry{}
	if err := crdmarkers.Register(registry); err != nil {
		return nil, err
	}
	parser := &crd.Parser{Collector: &markers.Collector{Registry: registry}, Checker: &loader.TypeChecker{}}
	crd.AddKnownTypes(parser)
	parser.NeedPackage(roots[0])
	id := crd.TypeIdent{Package: roots[0], Name: name}
	if parser.Types[id] == nil {
		return nil, fmt.Errorf("package %s declares no type %q", roots[0].PkgPath, name)
	}
	parser.NeedFlattenedSchemaFor(id)
	// The loader checks only the types it needs, so type errors mean nothing.
	if loader.PrintErrors(roots, packages.TypeError) {
		return nil, fmt.Errorf("package %s has errors", roots[0].PkgPath)
	}
	schema := parser.FlattenedSchemata[id]
	fix(&schema, "apiVersion", parser.GroupVersions[roots[0]].String())
	fix(&schema, "kind", name)
	return &schema, nil
}

// fix makes the string property required and value its only value.
func fix(schema *apiext.JSONSchemaProps, property, value string) {
	p := schema.Properties[property]
	p.Enum = []apiext.JSON{{Raw: []byte(strconv.Quote(value))}}
	schema.Properties[property] = p
	schema.Required = append(schema.Required, property)
}

// closeObjects forbids properties that are not declared, in schema and in all
// schemas below it.
func closeObjects(schema *apiext.JSONSchemaProps) {
	if schema.Type != "object" || schema.AdditionalProperties != nil {
		return
	}
	schema.AdditionalProperties = &apiext.JSONSchemaPropsOrBool{Allows: false}
	for name, p := range schema.Properties {
		closeObjects(&p)
		schema.Properties[name] = p
	}
}
