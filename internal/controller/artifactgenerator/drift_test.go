package artifactgenerator_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// artifactOrNil returns an ExternalArtifact, nil when there is none.
func (w *world) artifactOrNil(name string) *sourcev1.ExternalArtifact {
	w.t.Helper()
	o := &sourcev1.ExternalArtifact{}
	err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// ours is all that we own of an ExternalArtifact, as text.
func ours(t *testing.T, o *sourcev1.ExternalArtifact) string {
	t.Helper()
	if o == nil {
		return "gone"
	}
	o = o.DeepCopy()
	for i := range o.Status.Conditions {
		o.Status.Conditions[i].LastTransitionTime = metav1.Time{}
		o.Status.Conditions[i].ObservedGeneration -= o.Generation // as many behind
	}
	text, err := json.MarshalIndent(map[string]any{
		"labels": o.Labels, "annotations": o.Annotations, "spec": o.Spec, "status": o.Status,
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// W23: whatever of ours others change on an ExternalArtifact is as it was at once,
// and told of (2.5, #346).
func TestDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(v1beta1.SourceGitRepository, "mono", "main@1", "origin@1", map[string]string{"k.yaml": "k", "in.yaml": "replicas: 3"})
	w.start()
	w.apply("gen", `
sources: [{alias: s, kind: GitRepository, name: mono}]
commonMetadata: {labels: {team: a}, annotations: {note: b}}
artifacts: [{name: art, originRevision: "@s", inputsFrom: "@s/in.yaml", copy: [{from: "@s/**", to: "@artifact/"}]}]`)
	w.ready("gen", "True")
	w.quiet()
	want := ours(t, w.artifact("art"))
	type object = sourcev1.ExternalArtifact
	for _, c := range []struct {
		what string
		spec func(*object) // or
		stat func(*object)
		gone bool
	}{
		{what: "a label with another value", spec: func(o *object) { o.Labels["team"] = "x" }},
		{what: "a label that is gone", spec: func(o *object) { delete(o.Labels, "team") }},
		{what: "the generator's label", spec: func(o *object) { delete(o.Labels, v1beta1.LabelGenerator) }},
		{what: "the manager's label", spec: func(o *object) { o.Labels[v1beta1.LabelManagedBy] = "x" }},
		{what: "an annotation", spec: func(o *object) { o.Annotations["note"] = "x" }},
		{what: "the source's name", spec: func(o *object) { o.Spec.SourceRef.Name = "x" }},
		{what: "the source", spec: func(o *object) { o.Spec.SourceRef = nil }},
		{what: "all labels", spec: func(o *object) { o.Labels = nil }},
		{what: "the digest", stat: func(o *object) { o.Status.Artifact.Digest = "sha256:0" }},
		{what: "the revision", stat: func(o *object) { o.Status.Artifact.Revision = "x" }},
		{what: "the URL", stat: func(o *object) { o.Status.Artifact.URL = "http://x" }},
		{what: "the path", stat: func(o *object) { o.Status.Artifact.Path = "x" }},
		{what: "the size", stat: func(o *object) { *o.Status.Artifact.Size++ }},
		{what: "the time", stat: func(o *object) { o.Status.Artifact.LastUpdateTime = metav1.NewTime(time.Unix(1, 0)) }},
		{what: "the origin revision", stat: func(o *object) { o.Status.Artifact.Metadata[v1beta1.OriginRevisionKey] = "x" }},
		{what: "more metadata", stat: func(o *object) { o.Status.Artifact.Metadata["x"] = "y" }},
		{what: "the artifact", stat: func(o *object) { o.Status.Artifact = nil }},
		{what: "the inputs", stat: func(o *object) { o.Status.ExportedInputs["replicas"] = &apiextensionsv1.JSON{Raw: []byte("4")} }},
		{what: "the condition", stat: func(o *object) { o.Status.Conditions[0].Status = metav1.ConditionFalse }},
		{what: "another condition", stat: func(o *object) {
			o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{
				Type: "Stalled", Status: metav1.ConditionTrue, Reason: "X", LastTransitionTime: metav1.Now(),
			})
		}},
		{what: "the status", stat: func(o *object) { o.Status = sourcev1.ExternalArtifactStatus{} }},
		{what: "the object", gone: true},
	} {
		told := len(w.events.matching("gen DriftCorrected"))
		o := w.artifact("art")
		var err error
		switch {
		case c.gone:
			err = w.client.Delete(t.Context(), o)
		case c.spec != nil:
			c.spec(o)
			err = w.client.Update(t.Context(), o)
		default:
			c.stat(o)
			err = w.client.Status().Update(t.Context(), o)
		}
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		drifted := o.ResourceVersion
		w.until(func() error {
			o := w.artifactOrNil("art")
			if diff := cmp.Diff(want, ours(t, o)); diff != "" || o.ResourceVersion == drifted {
				return fmt.Errorf("%s (-want +is):\n%s", c.what, diff)
			}
			return nil
		})
		w.until(func() error {
			if len(w.events.matching("gen DriftCorrected")) == told {
				return fmt.Errorf("%s: no event", c.what)
			}
			return nil
		})
		if c.gone {
			want = ours(t, w.artifact("art")) // a new one has another time
		}
	}
	w.quiet()
	w.ready("gen", "True")
	// What is others' stays.
	o := w.artifact("art")
	o.Labels["mine"] = "x"
	if err := w.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	told := len(w.events.matching("gen DriftCorrected"))
	w.quiet()
	if w.artifact("art").Labels["mine"] != "x" || len(w.events.matching("gen DriftCorrected")) != told {
		t.Error("somebody else's label is taken for drift")
	}
}
