package v1beta1_test

import (
	"fmt"
	"log"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// A manifest is decoded with the scheme of this package.
func ExampleAddToScheme() {
	const manifest = `
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: my-app, namespace: apps}
spec:
  sources:
    - {alias: repo, kind: GitRepository, name: my-monorepo}
  artifacts:
    - name: frontend
      copy: [{from: "@repo/deploy/frontend/**", to: "@artifact/"}]
`
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var g v1beta1.ArtifactGenerator
	if _, _, err := decoder.Decode([]byte(manifest), nil, &g); err != nil {
		log.Fatal(err)
	}
	for _, a := range g.Spec.Artifacts {
		fmt.Println(a.Name, a.Copy[0].From)
	}
	fmt.Println("every", g.Interval())
	// Output:
	// frontend @repo/deploy/frontend/**
	// every 1h0m0s
}
