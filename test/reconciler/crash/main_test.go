// Package crash_test kills the reconciler at every call that it makes.
package crash_test

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/reconcilertest"
)

const name = "crash.weir.dev"

var shared testcluster.Shared

func TestMain(m *testing.M) {
	// Some scenarios wait for the cluster most of the time.
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	log.SetLogger(logr.Discard())
	os.Exit(shared.Run(m))
}

func each(t *testing.T, s reconcilertest.Scenario) {
	t.Helper()
	t.Parallel()
	run(t, s)
}

func run(t *testing.T, s reconcilertest.Scenario) {
	t.Helper()
	c, err := client.New(shared.Cluster(t).Admin(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Name = name
	tally := reconcilertest.CrashEach(t, c, s)
	t.Logf("%d boundaries, %d runs, %d missed, %s", tally.Calls, tally.Runs, tally.Missed, tally.Took.Round(1e6))
}

// manifests reads YAML in which $RUN and $NS stand for the run and its
// namespace.
func manifests(w reconcilertest.World, text string) (all []*unstructured.Unstructured) {
	text = strings.NewReplacer("$RUN", w.Name, "$NS", w.Namespace).Replace(text)
	for part := range strings.SplitSeq(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(part), &u.Object); err != nil {
			panic(err)
		}
		if u.Object != nil {
			all = append(all, u)
		}
	}
	return all
}

// want wants the manifests.
func want(text string) func(reconcilertest.World) reconciler.Request {
	return func(w reconcilertest.World) reconciler.Request {
		q := reconciler.Request{}
		for _, m := range manifests(w, text) {
			q.Objects = append(q.Objects, reconciler.Object{Manifest: m})
		}
		return q
	}
}

// others applies the manifests as another field manager.
func others(manager, text string) func(context.Context, reconcilertest.World) error {
	return func(ctx context.Context, w reconcilertest.World) error {
		for _, m := range manifests(w, text) {
			if m.GetNamespace() == "" {
				m.SetNamespace(w.Namespace)
			}
			body := client.ApplyConfigurationFromUnstructured(m)
			if err := w.Client.Apply(ctx, body, client.FieldOwner(manager), client.ForceOwnership); err != nil {
				return err
			}
		}
		return nil
	}
}

func keyOf(u *unstructured.Unstructured) object.Key { return object.KeyOf(u) }
