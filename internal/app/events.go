package app

import (
	"cmp"
	"unicode/utf8"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"github.com/weir-dev/weir/internal/loop"
)

// maxNote is the longest text that the API server takes in an event, in bytes.
const maxNote = 1024

// recorder sends events to the API server, in the background.
type recorder struct{ events.EventRecorder }

// Record implements [loop.Events].
func (r recorder) Record(about client.Object, e loop.Event) {
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	r.Eventf(about, nil, kind, e.Reason, cmp.Or(e.Action, "Reconcile"), "%s", short(e.Message))
}

// short cuts a message to what an event takes.
func short(message string) string {
	const end = "…"
	if len(message) <= maxNote {
		return message
	}
	cut := maxNote - len(end)
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + end
}
