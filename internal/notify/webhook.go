package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/weir-dev/weir/internal/loop"
)

// What [Options] mean when they do not say.
const (
	DefaultQueue   = 1000
	DefaultTries   = 5
	DefaultDelay   = time.Second
	DefaultTimeout = 15 * time.Second
)

// Why an event was dropped, for [Options.Dropped].
const (
	DropFull    = "queue_full"  // more events came than could be sent
	DropRefused = "undelivered" // no try was accepted
	DropEnd     = "shutdown"    // the program ended first
)

const (
	// maxMessage is the longest message that the receiver takes, in bytes.
	maxMessage = 39000
	// quiet is how long after a complaint in the log there is no other.
	quiet = time.Minute
	// grace is what is left for the queue when the program ends.
	grace = 3 * time.Second
)

// Options say where a [Webhook] sends events, and how hard it tries. URL and
// Scheme must be set.
type Options struct {
	// URL is where events are posted.
	URL string
	// Controller and Instance name the sender: the program and its pod.
	Controller, Instance string
	// Scheme knows the kinds of the objects that events are about.
	Scheme *runtime.Scheme
	// Queue is how many events may wait; zero means [DefaultQueue].
	Queue int
	// Tries is how often an event is sent at most; zero means [DefaultTries].
	Tries int
	// Delay is the time before the second try, and doubles with each; zero
	// means [DefaultDelay].
	Delay time.Duration
	// Timeout bounds one try; zero means [DefaultTimeout].
	Timeout time.Duration
	// Dropped is told why an event will not arrive; nil means nobody is. It
	// must not block.
	Dropped func(why string)
	Log     logr.Logger
}

func (o *Options) setDefaults() {
	def(&o.Queue, DefaultQueue)
	def(&o.Tries, DefaultTries)
	def(&o.Delay, DefaultDelay)
	def(&o.Timeout, DefaultTimeout)
	if o.Dropped == nil {
		o.Dropped = func(string) {}
	}
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Webhook posts events, as Flux's controllers do, to notification-controller or
// whoever else understands them. They are of version v1, which differs from
// v1beta1 only by fields that older receivers do not look at. It sends one after
// the other, while [Webhook.Start] runs; those that nobody takes are dropped in
// the end.
//
// Flux's own recorder (fluxcd/pkg/runtime/events) would post them while the
// reconcile that has the news waits, for up to a minute each when the receiver
// is down.
type Webhook struct {
	o      Options
	client *http.Client
	queue  chan eventv1.Event

	// Of the one goroutine that sends.
	complained time.Time
	silenced   int // complaints since
}

var _ loop.Events = (*Webhook)(nil)

// NewWebhook returns a webhook that sends nothing yet.
func NewWebhook(o Options) *Webhook {
	o.setDefaults()
	return &Webhook{o: o, client: &http.Client{Timeout: o.Timeout}, queue: make(chan eventv1.Event, o.Queue)}
}

// Record implements [loop.Events]. It only queues the event, and drops it when
// the queue is full. What is no news for alerts is not sent.
func (w *Webhook) Record(about client.Object, e loop.Event) {
	if e.Trace {
		return
	}
	gvk, err := apiutil.GVKForObject(about, w.o.Scheme)
	if err != nil {
		w.o.Log.Error(err, "an event is about an object of no known kind", "name", about.GetName(), "reason", e.Reason)
		return
	}
	select {
	case w.queue <- w.event(about, gvk, e):
	default:
		w.o.Dropped(DropFull)
	}
}

func (w *Webhook) event(about client.Object, gvk schema.GroupVersionKind, e loop.Event) eventv1.Event {
	severity := eventv1.EventSeverityInfo
	if e.Warning {
		severity = eventv1.EventSeverityError
	}
	return eventv1.Event{
		InvolvedObject: corev1.ObjectReference{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: about.GetNamespace(), Name: about.GetName(),
			UID: about.GetUID(), ResourceVersion: about.GetResourceVersion(),
		},
		Severity:            severity,
		Timestamp:           metav1.Now(),
		Message:             short(e.Message, maxMessage),
		Reason:              e.Reason,
		Action:              action(e),
		Metadata:            metadata(gvk.Group, e.Metadata, about.GetAnnotations()),
		ReportingController: w.o.Controller,
		ReportingInstance:   w.o.Instance,
	}
}

// metadata returns what notification-controller looks at: keys in the group of
// the object, and those that users put on the object for their alerts.
func metadata(group string, own, annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	maps.DeleteFunc(out, func(key, _ string) bool { return !strings.HasPrefix(key, eventv1.Group+"/") })
	if out == nil {
		out = map[string]string{}
	}
	for key, value := range own {
		if !strings.Contains(key, "/") {
			key = group + "/" + key
		}
		out[key] = value
	}
	return out
}

// Start sends events until ctx ends, and then, once each and for a few seconds,
// those that are left. It implements manager.Runnable.
func (w *Webhook) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case e := <-w.queue:
			w.deliver(ctx, e)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for {
		select {
		case e := <-w.queue:
			if err := w.post(last, e); err != nil {
				w.o.Dropped(DropEnd)
			}
		default:
			return nil
		}
	}
}

// deliver sends an event as often as it takes, and may be.
func (w *Webhook) deliver(ctx context.Context, e eventv1.Event) {
	delay := w.o.Delay
	for try := 1; ; try++ {
		err := w.post(ctx, e)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			// It gets its last try with the others.
			w.requeue(e)
			return
		}
		if try == w.o.Tries || errors.Is(err, errFinal) {
			w.o.Dropped(DropRefused)
			w.complain(err, e)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
		delay *= 2
	}
}

func (w *Webhook) requeue(e eventv1.Event) {
	select {
	case w.queue <- e:
	default:
		w.o.Dropped(DropEnd)
	}
}

// errFinal is wrapped by errors that another try would not change.
var errFinal = errors.New("refused")

// post sends an event once.
func (w *Webhook) post(ctx context.Context, e eventv1.Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("%w: %w", errFinal, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.o.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", errFinal, err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := w.client.Do(req)
	if err != nil {
		return err
	}
	// A body that was read leaves the connection to the next event.
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	_ = res.Body.Close()
	switch {
	case res.StatusCode < http.StatusMultipleChoices:
		return nil
	case res.StatusCode == http.StatusTooManyRequests:
		// So notification-controller says that it has heard the same before,
		// and to insist would tell it again as soon as it has forgotten.
		return nil
	case res.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("the receiver answers %s", res.Status)
	default:
		return fmt.Errorf("%w: the receiver answers %s", errFinal, res.Status)
	}
}

// complain logs that an event could not be sent, now and then.
func (w *Webhook) complain(err error, e eventv1.Event) {
	if time.Since(w.complained) < quiet {
		w.silenced++
		return
	}
	w.o.Log.Error(err, "an event could not be sent; more of the kind are not logged for a minute",
		"reason", e.Reason, "namespace", e.InvolvedObject.Namespace, "name", e.InvolvedObject.Name, "silenced", w.silenced)
	w.complained, w.silenced = time.Now(), 0
}
