package notify_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/tools/events"

	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/notify"
)

func TestClusterCutsLongMessages(t *testing.T) {
	f := events.NewFakeRecorder(1)
	for n := range 4 {
		notify.Cluster{EventRecorder: f}.Record(generator(), loop.Event{
			Warning: true, Reason: "BuildFailed", Message: strings.Repeat("x", n) + strings.Repeat("ä", 1000),
		})
		got, ok := strings.CutPrefix(<-f.Events, "Warning BuildFailed ")
		if !ok || len(got) > 1024 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes: %q…", len(got), got[:min(len(got), 40)])
		}
	}
	notify.Cluster{EventRecorder: f}.Record(generator(), loop.Event{Reason: "Succeeded", Message: "100%d"})
	if got := <-f.Events; got != "Normal Succeeded 100%d" {
		t.Errorf("got %q", got)
	}
}

func TestAllAreTold(t *testing.T) {
	f := events.NewFakeRecorder(1)
	var lines []map[string]any
	log := funcr.NewJSON(func(obj string) {
		var line map[string]any
		if err := json.Unmarshal([]byte(obj), &line); err != nil {
			t.Error(err)
		}
		lines = append(lines, line)
	}, funcr.Options{})
	all := notify.All{notify.Log{Logger: log, Scheme: scheme(t)}, notify.Cluster{EventRecorder: f}}
	all.Record(generator(), loop.Event{Reason: "Succeeded", Message: "done", Trace: true})
	if got := <-f.Events; got != "Normal Succeeded done" {
		t.Errorf("got %q", got)
	}
	if len(lines) != 1 {
		t.Fatalf("%d lines", len(lines))
	}
	for key, want := range map[string]any{
		"msg": "done", "reason": "Succeeded", "controllerKind": "ArtifactGenerator", "namespace": "apps", "name": "app", "warning": false,
	} {
		if lines[0][key] != want {
			t.Errorf("%s: %v", key, lines[0][key])
		}
	}
}
