package report

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/publish"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/tally"
)

// Reasons of events about namespaces.
const (
	reasonSpaceCreated = "NamespaceCreated"
	reasonSpaceUpdated = "NamespaceUpdated"
	reasonSpacePruned  = "NamespacePruned"
	reasonSpaceLeft    = "NamespaceLeft"
)

// actionManage is the action of events about namespaces that stay.
const actionManage = "Manage"

// deed is how one kind of change of namespaces is told.
type deed struct {
	loop.Event

	done string // to the generator, before the names
	told string // to the namespace, before the generator
}

// deeds are in the order in which they are told.
var deeds = []struct {
	kind publish.Kind
	deed
}{
	{publish.TakenOver, deed{loop.Event{Warning: true, Reason: v1beta1.ReasonOwnershipConflict, Action: actionManage},
		"took over from other generators", "managed by another generator, is taken over by"}},
	{publish.Adopted, deed{loop.Event{Warning: true, Reason: v1beta1.ReasonAdopted, Action: actionManage},
		"adopted", "managed by no generator, is adopted by"}},
	{publish.Created, deed{loop.Event{Reason: reasonSpaceCreated, Action: actionManage}, "created", "is created by"}},
	{publish.Updated, deed{loop.Event{Reason: reasonSpaceUpdated, Action: actionManage}, "updated", "is updated by"}},
	{publish.Deleted, deed{loop.Event{Reason: reasonSpacePruned, Action: actionPrune}, "deleted", "is deleted by"}},
	{publish.Left, deed{loop.Event{Reason: reasonSpaceLeft, Action: actionPrune}, "no longer manages, and leaves as they are,", "is no longer managed by"}},
}

// repair is told in place of an update when others had changed a namespace.
var repair = deed{loop.Event{Reason: reasonDrift, Action: actionManage}, "repaired what others had changed of", "was changed by others and is repaired by"}

// namespaces returns what is to be told about changes of namespaces, each on
// the namespace and all on the generator.
func namespaces(g *v1beta1.ArtifactGenerator, changes []publish.Change, repairs bool) []Note {
	var notes []Note
	for _, d := range deeds {
		var list []publish.Change
		for _, c := range changes {
			if c.Kind == d.kind {
				list = append(list, c)
			}
		}
		if len(list) == 0 {
			continue
		}
		how := d.deed
		if repairs && (d.kind == publish.Updated || d.kind == publish.Created) {
			how = repair
		}
		for _, c := range list[:min(len(list), maxClaims)] {
			notes = append(notes, how.on(c, g))
		}
		e := how.Event
		e.Message = how.done + " " + tally.Of(len(list), "namespace", func(i int) string { return list[i].Name })
		notes = append(notes, Note{g, e})
	}
	return notes
}

// on returns what a namespace is told.
func (d deed) on(c publish.Change, g *v1beta1.ArtifactGenerator) Note {
	about := &corev1.Namespace{}
	about.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	about.Name, about.UID, about.ResourceVersion = c.Name, c.UID, c.Version
	e := d.Event
	e.Message = fmt.Sprintf("Namespace %s, %s ArtifactGenerator %s/%s", c.Name, d.told, g.Namespace, g.Name)
	if c.Why != "" {
		e.Message += ": " + c.Why
	}
	return Note{about, e}
}
