// Package report says in events what was done with the objects of a generator:
// one event for each kind of change, however many objects it concerns. It is
// pure and sends nothing.
package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/publish"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/tally"
)

// Reasons of events beside those of conditions.
const (
	reasonPublished = "ArtifactPublished"
	reasonUpdated   = "ArtifactUpdated"
	reasonPruned    = "ArtifactPruned"
	reasonDrift     = "DriftCorrected"
)

// Actions of events, beside loop's own.
const (
	actionPublish = "Publish"
	actionPrune   = "Prune"
)

// The keys of metadata, as Flux's notification-controller knows them behind the
// group of the object.
const (
	keyRevision       = "revision"
	keyDigest         = "digest"
	keyOriginRevision = "originRevision"
	keyToken          = "token" // events with different ones are not the same
)

var prefix = v1beta1.GroupVersion.Group + "/"

// maxClaims is how many objects are told each for itself that they change
// hands. The generator is told of all in one event.
const maxClaims = 20

// Note is an event and the object that it is about.
type Note struct {
	About client.Object
	loop.Event
}

// Of returns what is to be told about the changes. When the pass had nothing to
// do but to repair what others had changed, that is what it tells.
func Of(g *v1beta1.ArtifactGenerator, changes []publish.Change, repairs bool) []Note {
	var published, updated, repaired, adopted, taken, pruned, spaces []publish.Change
	for _, c := range changes {
		switch {
		case c.IsNamespace():
			spaces = append(spaces, c)
			continue
		case c.Kind == publish.Deleted:
			pruned = append(pruned, c)
			continue
		case c.Kind == publish.TakenOver:
			taken = append(taken, c)
		case c.Kind == publish.Adopted && !repairs: // else it has lost our label
			adopted = append(adopted, c)
		case repairs:
			repaired = append(repaired, c)
			continue
		case !c.Revised && c.Kind == publish.Updated:
			updated = append(updated, c)
		}
		if c.Revised {
			published = append(published, c)
		}
	}
	notes := namespaces(g, spaces, repairs)
	add := func(list []publish.Change, e loop.Event, what string) {
		if len(list) > 0 {
			e.Message = fmt.Sprintf(what, tally.Of(len(list), "artifact", func(i int) string { return name(list[i]) }))
			notes = append(notes, Note{g, e})
		}
	}
	notes = append(notes, claims(g, taken, v1beta1.ReasonOwnershipConflict, "managed by another generator, is taken over by")...)
	add(taken, loop.Event{Warning: true, Reason: v1beta1.ReasonOwnershipConflict, Action: actionPublish}, "took over %s from other generators")
	notes = append(notes, claims(g, adopted, v1beta1.ReasonAdopted, "managed by no generator, is adopted by")...)
	add(adopted, loop.Event{Warning: true, Reason: v1beta1.ReasonAdopted, Action: actionPublish}, "adopted %s")
	add(published, loop.Event{Reason: reasonPublished, Action: actionPublish, Metadata: revisions(published)}, "published %s")
	add(updated, loop.Event{Trace: true, Reason: reasonUpdated, Action: actionPublish}, "updated the labels, annotations or inputs of %s")
	add(repaired, loop.Event{Reason: reasonDrift, Action: actionPublish}, "repaired what others had changed of %s")
	add(pruned, loop.Event{Reason: reasonPruned, Action: actionPrune}, "deleted %s")
	return notes
}

// claims warns of objects that change hands, on the objects.
func claims(g *v1beta1.ArtifactGenerator, list []publish.Change, reason, what string) []Note {
	var out []Note
	for _, c := range list[:min(len(list), maxClaims)] {
		about := &sourcev1.ExternalArtifact{}
		about.SetGroupVersionKind(external.Kind)
		about.Namespace, about.Name, about.UID, about.ResourceVersion = c.Namespace, c.Name, c.UID, c.Version
		out = append(out, Note{about, loop.Event{
			Warning: true, Reason: reason, Action: actionPublish,
			Message: fmt.Sprintf("ExternalArtifact %s, %s ArtifactGenerator %s/%s", name(c), what, g.Namespace, g.Name),
		}})
	}
	return out
}

// revisions returns the metadata of an event about published artifacts: what
// all of them have in common, so that it is as long for a thousand as for one,
// and a token that tells one list from another.
func revisions(list []publish.Change) map[string]string {
	h := sha256.New()
	common := map[string]string{}
	for i, c := range list {
		one := metadata(c.Artifact)
		_, _ = io.WriteString(h, name(c)+" "+one[keyRevision]+"\n")
		for key, value := range one {
			if i == 0 {
				common[key] = value
			}
		}
		for key, value := range common {
			if one[key] != value {
				delete(common, key)
			}
		}
	}
	out := map[string]string{prefix + keyToken: "sha256:" + hex.EncodeToString(h.Sum(nil))}
	for key, value := range common {
		out[prefix+key] = value
	}
	return out
}

func metadata(a *build.Artifact) map[string]string {
	out := map[string]string{keyRevision: a.Revision, keyDigest: "sha256:" + a.Content.String()}
	if a.OriginRevision != "" {
		out[keyOriginRevision] = a.OriginRevision
	}
	return out
}

// Origin returns the metadata of events about a generator that is made of one
// source alone, so that what becomes of a commit can be told to where it came
// from. The revision is that of the source.
func Origin(revision string) map[string]string {
	return map[string]string{prefix + keyOriginRevision: revision}
}

func name(c publish.Change) string { return c.Namespace + "/" + c.Name }
