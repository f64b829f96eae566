package source_test

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/source"
)

func TestDigestDependsOnEverything(t *testing.T) {
	base := source.State{Digest: "d", Revision: "r", OriginRevision: "o", URL: "u"}
	seen := map[string]string{}
	for name, states := range map[string]map[string]source.State{
		"base":     {"a": base},
		"alias":    {"b": base},
		"two":      {"a": base, "b": base},
		"digest":   {"a": {Digest: "e", Revision: "r", OriginRevision: "o", URL: "u"}},
		"revision": {"a": {Digest: "d", Revision: "s", OriginRevision: "o", URL: "u"}},
		"origin":   {"a": {Digest: "d", Revision: "r", OriginRevision: "p", URL: "u"}},
		"url":      {"a": {Digest: "d", Revision: "r", OriginRevision: "o", URL: "v"}},
	} {
		d := source.Digest(states)
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
}

func TestNews(t *testing.T) {
	repo := func(edit func(*sourcev1.GitRepository)) *sourcev1.GitRepository {
		o := &sourcev1.GitRepository{}
		o.Status.Artifact = &meta.Artifact{Digest: "d", Revision: "r", URL: "u"}
		edit(o)
		return o
	}
	same := func(*sourcev1.GitRepository) {}
	ready := func(o *sourcev1.GitRepository) {
		o.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	}
	for name, c := range map[string]struct {
		was, is func(*sourcev1.GitRepository)
		want    bool
	}{
		"nothing":  {same, same, false},
		"a label":  {same, func(o *sourcev1.GitRepository) { o.Labels = map[string]string{"a": "b"} }, false},
		"a check":  {same, func(o *sourcev1.GitRepository) { o.Status.Artifact.LastUpdateTime = metav1.Now() }, false},
		"digest":   {same, func(o *sourcev1.GitRepository) { o.Status.Artifact.Digest = "e" }, true},
		"revision": {same, func(o *sourcev1.GitRepository) { o.Status.Artifact.Revision = "s" }, true},
		"origin": {same, func(o *sourcev1.GitRepository) {
			o.Status.Artifact.Metadata = map[string]string{v1beta1.OriginRevisionKey: "o"}
		}, true},
		"no artifact": {same, func(o *sourcev1.GitRepository) { o.Status.Artifact = nil }, true},
		"first":       {func(o *sourcev1.GitRepository) { o.Status.Artifact = nil }, same, true},
		"ready":       {same, ready, true},
		"not ready":   {ready, same, false},
		"another one": {same, func(o *sourcev1.GitRepository) { o.UID = "2" }, true},
	} {
		got := source.News().Update(event.UpdateEvent{ObjectOld: repo(c.was), ObjectNew: repo(c.is)})
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestEveryKindOfTheSpecIsKnown(t *testing.T) {
	for _, kind := range source.Kinds() {
		if source.New(kind) == nil {
			t.Error(kind)
		}
	}
	if len(source.Kinds()) != 5 {
		t.Errorf("kinds are %q", source.Kinds())
	}
}
