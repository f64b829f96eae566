package notify_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/notify"
)

// receiver is a server of events that answers as a test wants.
type receiver struct {
	*httptest.Server
	answer func(try int) int // code of a try of the same event; zero hangs until the end

	mu    sync.Mutex
	tries map[string]int // by message
	got   chan eventv1.Event
}

func newReceiver(t *testing.T, answer func(try int) int) *receiver {
	t.Helper()
	r := &receiver{answer: answer, tries: map[string]int{}, got: make(chan eventv1.Event, 100)}
	end := make(chan struct{})
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var e eventv1.Event
		if err := json.NewDecoder(req.Body).Decode(&e); err != nil || req.Method != http.MethodPost ||
			req.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s of %q: %v", req.Method, req.Header.Get("Content-Type"), err)
		}
		r.mu.Lock()
		r.tries[e.Message]++
		try := r.tries[e.Message]
		r.mu.Unlock()
		code := http.StatusAccepted
		if e.Message != last {
			code = r.answer(try)
		}
		if code == 0 {
			select {
			case <-end:
			case <-req.Context().Done():
			}
			return
		}
		w.WriteHeader(code)
		if code == http.StatusAccepted {
			r.got <- e
		}
	}))
	t.Cleanup(func() { close(end); r.Close() })
	return r
}

func (r *receiver) tried(message string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tries[message]
}

// last is an event that every receiver accepts. Events are sent in order: when
// it arrives, those before it are through.
const last = "last"

func accept(int) int { return http.StatusAccepted }

// sender is a webhook that runs until the test ends, or stop is called.
type sender struct {
	*notify.Webhook
	dropped chan string
	logged  chan string
	stop    func()
}

func start(t *testing.T, url string, o notify.Options) *sender {
	t.Helper()
	s := &sender{dropped: make(chan string, 100), logged: make(chan string, 100)}
	o.URL, o.Scheme, o.Controller, o.Instance, o.Delay = url, scheme(t), "weir-controller", "weir-controller-0", time.Millisecond
	o.Dropped = func(why string) { s.dropped <- why }
	o.Log = funcr.New(func(_, args string) { s.logged <- args }, funcr.Options{})
	s.Webhook = notify.NewWebhook(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func generator() *v1beta1.ArtifactGenerator {
	return &v1beta1.ArtifactGenerator{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: "app", UID: "u", ResourceVersion: "7",
		Annotations: map[string]string{"event.toolkit.fluxcd.io/change_request": "33", "other/key": "x"},
	}}
}

func TestWebhookSendsWhatFluxUnderstands(t *testing.T) {
	r := newReceiver(t, accept)
	s := start(t, r.URL, notify.Options{})
	s.Record(generator(), loop.Event{
		Warning: true, Reason: "BuildFailed", Message: "no", Action: "Build",
		Metadata: map[string]string{"revision": "main@sha1:1", "event.toolkit.fluxcd.io/commit": "1"},
	})
	got := <-r.got
	want := eventv1.Event{
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "source.extensions.fluxcd.io/v1beta1", Kind: "ArtifactGenerator", Namespace: "apps", Name: "app", UID: "u", ResourceVersion: "7",
		},
		Severity: "error", Reason: "BuildFailed", Action: "Build", Message: "no", ReportingController: "weir-controller", ReportingInstance: "weir-controller-0",
		Metadata: map[string]string{
			"source.extensions.fluxcd.io/revision": "main@sha1:1", "event.toolkit.fluxcd.io/commit": "1", "event.toolkit.fluxcd.io/change_request": "33",
		},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(eventv1.Event{}, "Timestamp")); d != "" || got.Timestamp.IsZero() {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestWebhookCutsLongMessagesAndSkipsTraces(t *testing.T) {
	r := newReceiver(t, accept)
	s := start(t, r.URL, notify.Options{})
	s.Record(generator(), loop.Event{Trace: true, Reason: "Succeeded", Message: "trace"})
	s.Record(generator(), loop.Event{Reason: "Succeeded", Message: "x" + strings.Repeat("ä", 30000)})
	got := <-r.got // the first that arrives
	if len(got.Message) > 39000 || !strings.HasSuffix(got.Message, "ä…") || got.Severity != "info" {
		t.Errorf("%s, %d bytes: …%q", got.Severity, len(got.Message), got.Message[max(0, len(got.Message)-10):])
	}
}

// Answers of the receiver, and how often an event is sent because of them.
func TestWebhookTriesAgainWhenItHelps(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(try int) int
		tries   int
		dropped string // why; empty: it was not
	}{
		"accepted":            {accept, 1, ""},
		"fails twice":         {func(try int) int { return map[bool]int{true: 503, false: 202}[try < 3] }, 3, ""},
		"fails for ever":      {func(int) int { return 500 }, 5, notify.DropRefused},
		"a duplicate":         {func(int) int { return 429 }, 1, ""},
		"refused":             {func(int) int { return 400 }, 1, notify.DropRefused},
		"hangs, then accepts": {func(try int) int { return map[bool]int{true: 0, false: 202}[try < 2] }, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, c.answer)
			s := start(t, r.URL, notify.Options{Timeout: 300 * time.Millisecond})
			s.Record(generator(), loop.Event{Message: "first"})
			s.Record(generator(), loop.Event{Message: last})
			for (<-r.got).Message != last {
			}
			if c.dropped != "" {
				if why := <-s.dropped; why != c.dropped {
					t.Errorf("dropped: %q", why)
				}
				if line := <-s.logged; !strings.Contains(line, `"namespace"="apps" "name"="app"`) {
					t.Errorf("logged %s", line)
				}
			}
			if n := r.tried("first"); n != c.tries {
				t.Errorf("sent %d times, want %d", n, c.tries)
			}
			select {
			case why := <-s.dropped:
				t.Errorf("dropped: %q", why)
			default:
			}
		})
	}
}

// Nobody waits for a receiver that is down, and the log is not filled with it.
func TestWebhookThatNobodyAnswers(t *testing.T) {
	r := newReceiver(t, accept)
	url := r.URL
	r.Close()
	s := start(t, url, notify.Options{Queue: 10, Tries: 2})
	began := time.Now()
	for i := range 50 {
		s.Record(generator(), loop.Event{Message: strconv.Itoa(i)})
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("50 events took %s", took)
	}
	for range 50 {
		<-s.dropped
	}
	s.stop()
	if n := len(s.logged); n != 1 {
		t.Errorf("%d lines in the log", n)
	}
}

// A full queue drops what is new, and what waits is sent when the program ends.
func TestWebhookIsBoundedAndEndsWell(t *testing.T) {
	hang, began := make(chan struct{}), make(chan struct{}, 10)
	r := newReceiver(t, func(int) int {
		began <- struct{}{}
		<-hang
		return http.StatusAccepted
	})
	s := start(t, r.URL, notify.Options{Queue: 2})
	s.Record(generator(), loop.Event{Message: "sending"})
	<-began
	for _, m := range []string{"1", "2", "3"} {
		s.Record(generator(), loop.Event{Message: m})
	}
	if why := <-s.dropped; why != notify.DropFull {
		t.Errorf("dropped: %q", why)
	}
	close(hang)
	s.stop()
	if r.tried("1") == 0 || r.tried("2") == 0 || r.tried("3") != 0 {
		t.Errorf("tries: %v", r.tries)
	}
}
