package external_test

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/external"
)

func wanted() external.Artifact {
	return external.Artifact{
		Digest: "sha256:d", Path: "p", URL: "u", Revision: "r", Size: 3, OriginRevision: "o",
		Inputs: map[string]apiextensionsv1.JSON{"n": {Raw: []byte(`{"b": 1e3, "a": 2}`)}, "null": {}},
	}
}

func TestTellWritesOnlyNews(t *testing.T) {
	then := metav1.NewTime(time.Unix(1e9, 0))
	now := metav1.NewTime(time.Unix(2e9, 0))
	for name, c := range map[string]struct {
		edit  func(*sourcev1.ExternalArtifact)
		want  func(*external.Artifact)
		news  bool
		moved bool // lastUpdateTime
	}{
		"nothing":        {},
		"json rewritten": {edit: func(o *sourcev1.ExternalArtifact) { o.Status.ExportedInputs["n"].Raw = []byte(`{"a":2,"b":1000}`) }},
		"other content":  {want: func(a *external.Artifact) { a.Digest = "sha256:e" }, news: true, moved: true},
		"origin moved":   {want: func(a *external.Artifact) { a.OriginRevision = "p" }},
		"origin no more": {want: func(a *external.Artifact) { a.OriginRevision = "" }, news: true, moved: true},
		"both moved":     {want: func(a *external.Artifact) { a.OriginRevision, a.Revision = "p", "s" }, news: true, moved: true},
		"other inputs":   {want: func(a *external.Artifact) { a.Inputs = nil }, news: true},
		"edited input":   {edit: func(o *sourcev1.ExternalArtifact) { o.Status.ExportedInputs["n"].Raw = []byte(`{}`) }, news: true},
		"emptied":        {edit: func(o *sourcev1.ExternalArtifact) { o.Status = sourcev1.ExternalArtifactStatus{} }, news: true, moved: true},
		"edited digest":  {edit: func(o *sourcev1.ExternalArtifact) { o.Status.Artifact.Digest = "x:y" }, news: true, moved: true},
		"not ready":      {edit: func(o *sourcev1.ExternalArtifact) { o.Status.Conditions[0].Status = "False" }, news: true},
		"other spec":     {edit: func(o *sourcev1.ExternalArtifact) { o.Generation++ }, news: true},
		"more conditions": {edit: func(o *sourcev1.ExternalArtifact) {
			o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{Type: "Stalled", Status: "True"})
		}, news: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := &sourcev1.ExternalArtifact{}
			a := wanted()
			if !a.Tell(o, then) {
				t.Fatal("an empty status already says all")
			}
			if c.edit != nil {
				c.edit(o)
			}
			if c.want != nil {
				c.want(&a)
			}
			if got := a.Tell(o, now); got != c.news {
				t.Errorf("news: %v, want %v", got, c.news)
			}
			if got := o.Status.Artifact.LastUpdateTime.Equal(&now); got != c.moved {
				t.Errorf("the update time moved: %v, want %v", got, c.moved)
			}
			if a.Tell(o, now) {
				t.Error("it is never told")
			}
		})
	}
}

func TestOwner(t *testing.T) {
	o := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: "here"}}
	if _, ok := external.OwnerOf(o); ok {
		t.Error("an object without a source has an owner")
	}
	o.Spec.SourceRef = &meta.NamespacedObjectKindReference{Kind: v1beta1.KindArtifactGenerator, Name: "g"}
	if own, ok := external.OwnerOf(o); !ok || own != (external.Owner{Namespace: "here", Name: "g"}) {
		t.Errorf("owner %+v", own)
	}
}
