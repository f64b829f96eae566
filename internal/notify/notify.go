// Package notify tells of events outside of the process: in the log, as events
// of the API server, and to Flux's notification-controller. It decides nothing
// about what is worth telling, and nobody waits for it.
package notify

import (
	"cmp"
	"unicode/utf8"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/weir-dev/weir/internal/loop"
)

// All tells everyone in it, in order.
type All []loop.Events

// Record implements [loop.Events].
func (a All) Record(about client.Object, e loop.Event) {
	for _, one := range a {
		one.Record(about, e)
	}
}

// Log writes events into a log, under the keys that Flux's controllers use.
type Log struct {
	Logger logr.Logger
	// Scheme knows the kinds of the objects.
	Scheme *runtime.Scheme
}

// Record implements [loop.Events].
func (l Log) Record(about client.Object, e loop.Event) {
	kind := "Unknown"
	if gvk, err := apiutil.GVKForObject(about, l.Scheme); err == nil {
		kind = gvk.Kind
	}
	l.Logger.Info(e.Message, "reason", e.Reason, "warning", e.Warning, "controllerKind", kind,
		"namespace", about.GetNamespace(), "name", about.GetName())
}

// Cluster sends events to the API server, in the background.
type Cluster struct{ events.EventRecorder }

// maxNote is the longest text that the API server takes in an event, in bytes.
const maxNote = 1024

// Record implements [loop.Events]. Events of six minutes that agree in the
// object with its version, the reason and the action become one, whatever their
// messages: who records about an object that it has not read gives its version.
func (c Cluster) Record(about client.Object, e loop.Event) {
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	c.Eventf(about, nil, kind, e.Reason, action(e), "%s", short(e.Message, maxNote))
}

func action(e loop.Event) string { return cmp.Or(e.Action, "Reconcile") }

// short cuts a message to so many bytes, and shows that it did.
func short(message string, most int) string {
	const end = "…"
	if len(message) <= most {
		return message
	}
	cut := most - len(end)
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + end
}
