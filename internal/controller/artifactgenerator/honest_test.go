package artifactgenerator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/draft"
)

// honest watches all objects until the test ends, and fails it when one says
// Ready=True for its present generation of what is not there. It returns how
// many such claims it has checked.
func (w *world) honest() *atomic.Int64 {
	w.t.Helper()
	c, err := client.NewWithWatch(shared.Cluster(w.t).Admin(), client.Options{Scheme: scheme(w.t)})
	if err != nil {
		w.t.Fatal(err)
	}
	var claims atomic.Int64
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan struct{}, 2)
	for _, list := range []client.ObjectList{&v1beta1.ArtifactGeneratorList{}, &sourcev1.ExternalArtifactList{}} {
		events, err := c.Watch(ctx, list, client.InNamespace(w.namespace))
		if err != nil {
			w.t.Fatal(err)
		}
		go func() {
			defer func() { done <- struct{}{} }()
			for e := range events.ResultChan() {
				if e.Type != watch.Deleted {
					w.check(ctx, e.Object, &claims)
				}
			}
		}()
	}
	w.t.Cleanup(func() {
		cancel()
		<-done
		<-done
	})
	return &claims
}

func (w *world) check(ctx context.Context, object any, claims *atomic.Int64) {
	var err error
	switch o := object.(type) {
	case *sourcev1.ExternalArtifact:
		if c := apimeta.FindStatusCondition(o.Status.Conditions, "Ready"); c == nil || c.Status != "True" || c.ObservedGeneration != o.Generation {
			return
		}
		if o.Status.Artifact == nil {
			err = errors.New("there is no artifact")
		} else {
			err = fetched(ctx, o.Status.Artifact)
		}
		if now := w.artifactOrNil(o.Name); now == nil || now.ResourceVersion != o.ResourceVersion {
			return // superseded before it could be checked
		}
	case *v1beta1.ArtifactGenerator:
		c := apimeta.FindStatusCondition(o.Status.Conditions, "Ready")
		if c == nil || c.Status != "True" || c.ObservedGeneration != o.Generation {
			return
		}
		if apimeta.IsStatusConditionTrue(o.Status.Conditions, "Reconciling") || apimeta.IsStatusConditionTrue(o.Status.Conditions, "Stalled") {
			err = fmt.Errorf("conditions %+v contradict each other", o.Status.Conditions)
		}
		if want := o.Annotations["want"]; want != strconv.Itoa(len(o.Status.Inventory)) {
			err = fmt.Errorf("the inventory has %d entries, want %s", len(o.Status.Inventory), want)
		}
		for _, e := range o.Status.Inventory {
			if _, serr := os.Stat(w.dir + "/" + draft.File(e)); serr != nil {
				err = serr
			}
		}
	}
	claims.Add(1)
	if err != nil && ctx.Err() == nil {
		w.t.Errorf("%s claims to be ready, and %v", object.(client.Object).GetName(), err)
	}
}

// D8, W10, W26: neither a generator nor an artifact ever says that it is ready
// for what it is not, through changes of sources and specs, failures, restarts
// and the loss of the volume.
func TestReadyNeverLies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claims := w.honest()
	w.source("main@1", apps(5))
	w.start()
	// What the spec is to come to is said with it, in one request.
	spec := func(want int, spec string) {
		t.Helper()
		w.applyWith("all", spec, map[string]string{"want": strconv.Itoa(want)})
	}
	spec(5, each)
	w.ready("all", "True")
	spec(5, each+"\ncommonMetadata: {labels: {a: b}}")
	w.ready("all", "True")
	spec(10, strings.Replace(each, "artifacts: [", `artifacts: [{name: "{app}-more", copy: [{from: "@s/apps/{app}/**", to: "@artifact/more/"}]}, `, 1))
	w.ready("all", "True")
	spec(-1, strings.ReplaceAll(each, "@s/", "@t/"))
	w.ready("all", "False ValidationFailed")
	spec(5, each)
	w.ready("all", "True")
	w.quiet()
	w.end()
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	spec(5, each+"\ncommonMetadata: {labels: {a: c}}")
	w.start()
	w.ready("all", "True")
	w.quiet()
	if n := claims.Load(); n < 20 {
		t.Errorf("only %d claims were checked", n)
	}
}
