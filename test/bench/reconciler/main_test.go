//go:build linux

// Package reconciler measures package reconciler on a real API server. Run it
// with
//
//	go test ./test/bench/reconciler -run '^$' -bench . -benchtime 3x -v
package reconciler

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/pkg/reconciler"
)

var (
	shared  testcluster.Shared
	results table
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := shared.Run(m)
	results.print(os.Stdout)
	os.Exit(code)
}

// configMaps returns n ConfigMaps as a controller would render them.
func configMaps(n int) []reconciler.Object {
	all := make([]reconciler.Object, n)
	for i := range all {
		all[i].Manifest = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{
				"name": fmt.Sprintf("profile-%05d", i), "labels": map[string]any{"app": "profile", "index": strconv.Itoa(i)},
			},
			"data": map[string]any{"environment": "production", "index": strconv.Itoa(i), "config.yaml": "a: 1\nb: 2\nc: 3\n"},
		}}
	}
	return all
}
