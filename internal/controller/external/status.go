package external

import (
	"bytes"
	"maps"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// Artifact is what an object should say in its status.
type Artifact struct {
	Digest, Path, URL, Revision string
	// Size is in bytes.
	Size int64
	// OriginRevision is empty when none is asked for.
	OriginRevision string
	Inputs         map[string]apiextensionsv1.JSON
	// Before is what the object was last told, nil when that is not known. Of the
	// same content, its origin and time stay.
	Before *meta.Artifact
}

// Tell makes the status of o say what a is, and reports whether it did not say
// so already. The origin revision is the one that the content came from first:
// a commit to a monorepo must not touch all of its artifacts.
func (a *Artifact) Tell(o *sourcev1.ExternalArtifact, now metav1.Time) bool {
	was := o.Status.DeepCopy()
	if want := a.artifact(was.Artifact, now); !apiequality.Semantic.DeepEqual(was.Artifact, want) {
		o.Status.Artifact = want
	}
	if inputs := exported(a.Inputs); !sameInputs(was.ExportedInputs, inputs) {
		o.Status.ExportedInputs = inputs
	}
	apimeta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonSucceeded,
		Message: "Artifact is ready", ObservedGeneration: o.Generation, LastTransitionTime: now,
	})
	o.Status.Conditions = slices.DeleteFunc(o.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type != v1beta1.ConditionReady
	})
	return !apiequality.Semantic.DeepEqual(was, &o.Status)
}

// ReasonMissing is that of an object whose file is gone.
const ReasonMissing = "ArtifactMissing"

// Disclaim makes the status of o say that its file is gone, and reports whether
// it did not say so already. The artifact stays in it: nothing else has changed.
func Disclaim(o *sourcev1.ExternalArtifact, now metav1.Time) bool {
	return apimeta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: ReasonMissing,
		Message: "the file of the artifact is gone and is being made again", ObservedGeneration: o.Generation, LastTransitionTime: now,
	})
}

// artifact returns what the status should say of the artifact, for an object
// that says is.
func (a *Artifact) artifact(is *meta.Artifact, now metav1.Time) *meta.Artifact {
	out := &meta.Artifact{
		Digest: a.Digest, Path: a.Path, URL: a.URL, Revision: a.Revision, Size: &a.Size, LastUpdateTime: now,
	}
	if a.OriginRevision != "" {
		out.Metadata = map[string]string{v1beta1.OriginRevisionKey: a.OriginRevision}
	}
	for _, before := range []*meta.Artifact{a.Before, is} {
		if before == nil || !same(before, out) {
			continue
		}
		out.LastUpdateTime = before.LastUpdateTime
		if out.Metadata != nil {
			out.Metadata = map[string]string{v1beta1.OriginRevisionKey: before.Metadata[v1beta1.OriginRevisionKey]}
		}
		break
	}
	return out
}

// same reports whether two are the same but for their origin and time.
func same(a, b *meta.Artifact) bool {
	_, hasA := a.Metadata[v1beta1.OriginRevisionKey]
	_, hasB := b.Metadata[v1beta1.OriginRevisionKey]
	return a.Digest == b.Digest && a.Path == b.Path && a.URL == b.URL && a.Revision == b.Revision &&
		a.Size != nil && *a.Size == *b.Size && hasA == hasB
}

// exported returns the inputs as the API takes them. Those that are null are
// left out: the kind does not allow null there, and the API server drops them.
func exported(inputs map[string]apiextensionsv1.JSON) map[string]*apiextensionsv1.JSON {
	var out map[string]*apiextensionsv1.JSON
	for name, value := range inputs {
		if len(canonical(value.Raw)) == 0 {
			continue
		}
		if out == nil {
			out = make(map[string]*apiextensionsv1.JSON, len(inputs))
		}
		out[name] = value.DeepCopy()
	}
	return out
}

// sameInputs compares by meaning: the API server writes JSON in its own way.
func sameInputs(is, want map[string]*apiextensionsv1.JSON) bool {
	return maps.EqualFunc(is, want, func(a, b *apiextensionsv1.JSON) bool {
		return a != nil && bytes.Equal(canonical(a.Raw), canonical(b.Raw))
	})
}

// canonical returns JSON in one of its forms, and nothing for null.
func canonical(raw []byte) []byte {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil || v == nil {
		return nil
	}
	return out
}
