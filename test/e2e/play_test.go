package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/internal/testcluster"
	"github.com/weir-dev/weir/internal/testpod"
)

// play plays those of the scripts that must be played alone, one after the
// other, or the rest, side by side.
func (s *stage) play(t *testing.T, files []string, one bool) {
	t.Helper()
	chosen := []string{}
	for _, f := range files {
		if alone(t, f) == one {
			chosen = append(chosen, f)
		}
	}
	t.Cleanup(func() {
		if err := s.end(context.Background()); err != nil {
			t.Errorf("after the scripts: %v", err)
		}
	})
	deadline, _ := t.Deadline()
	testscript.RunT(theater{t, s, one}, testscript.Params{
		Files:              chosen,
		Cmds:               commands(),
		Deadline:           deadline,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			for name, value := range s.env {
				env.Setenv(name, value)
			}
			t := env.T().(theater).T
			env.Values[scriptKey{}] = &script{
				stage: s, t: t, ctx: t.Context(), audit: s.cluster.Audit(t), fetched: s.sources.count(),
			}
			return nil
		},
	})
}

// theater is a test that plays scripts, or one of them.
type theater struct {
	*testing.T
	stage *stage
	alone bool
}

// Parallel lets scripts run side by side where they may.
func (p theater) Parallel() {
	if !p.alone {
		p.T.Parallel()
	}
}

// Verbose is what testscript asks for.
func (p theater) Verbose() bool { return testing.Verbose() }

// Run runs one script and cleans up after it.
func (p theater) Run(name string, f func(testscript.T)) {
	p.T.Run(name, func(t *testing.T) {
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(p.stage.explain(prefixOf(name)))
			}
			p.stage.sweep(t, prefixOf(name))
		})
		if p.alone {
			if err := p.stage.clear(t.Context()); err != nil {
				t.Fatalf("before the script: %v", err)
			}
		}
		f(theater{t, p.stage, p.alone})
	})
}

// explain returns what is known about a script beside its own output: what the
// controller logged about its objects, the conditions of generators, and events.
func (s *stage) explain(prefix string) string {
	var out strings.Builder
	log, err := s.controller.Log()
	if err != nil {
		fmt.Fprintln(&out, err)
	}
	var about []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, prefix) || !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, testpod.StartMark) {
			about = append(about, brief(strings.TrimSpace(line)))
		}
	}
	fmt.Fprintf(&out, "[log of weir-controller about %s]\n%s\n[conditions]\n", prefix, tail(about, 40))
	ctx := context.Background() // the script's own has ended
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(generator("", "").GroupVersionKind())
	if err := s.client.List(ctx, list); err != nil {
		fmt.Fprintln(&out, err)
	}
	for _, g := range list.Items {
		if !strings.HasPrefix(g.GetNamespace(), prefix) {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(g.Object, "status", "conditions")
		for _, c := range conditions {
			c, _ := c.(map[string]any)
			fmt.Fprintf(&out, "%s/%s: %v=%v %v: %v\n", g.GetNamespace(), g.GetName(), c["type"], c["status"], c["reason"], c["message"])
		}
	}
	out.WriteString(s.flux.explain(prefix))
	fmt.Fprintf(&out, "[events]\n")
	var events v1.EventList
	if err := s.client.List(ctx, &events); err != nil {
		fmt.Fprintln(&out, err)
	}
	for _, e := range events.Items {
		if o := e.InvolvedObject; strings.HasPrefix(o.Namespace, prefix) || strings.HasPrefix(o.Name, prefix) {
			fmt.Fprintf(&out, "%s %s %s/%s: %s: %s\n", e.Type, o.Kind, o.Namespace, o.Name, e.Reason, e.Message)
		}
	}
	return out.String()
}

// brief returns what people read of a line of the log in JSON, or the line.
func brief(line string) string {
	var r struct {
		Level, Msg, Namespace, Name, Cause, Error string
	}
	if json.Unmarshal([]byte(line), &r) != nil {
		return line
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s/%s %s %s %s", r.Level, r.Namespace, r.Name, r.Msg, r.Cause, r.Error)), " ")
}

func tail(lines []string, n int) string {
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// script is one that is being played.
type script struct {
	*stage
	t     *testing.T
	ctx   context.Context
	audit *testcluster.Audit // since the start or the last reset

	fetched   int          // how many downloads there were at the start or the last reset
	consuming func() error // ends the consumers, nil when there are none
}

type scriptKey struct{}

// errUsage is for mistakes in a script, which ! does not make right.
var errUsage = errors.New("usage")

// call is a command of a script with its arguments; path makes one absolute.
type call struct {
	args []string
	path func(string) string
}

func commands() map[string]func(*testscript.TestScript, bool, []string) {
	cmds := map[string]func(*testscript.TestScript, bool, []string){}
	for name, run := range map[string]func(*script, call) error{
		"source":     (*script).source,
		"serve":      (*script).serve,
		"fetches":    (*script).fetches,
		"artifact":   (*script).artifact,
		"consumers":  (*script).consumers,
		"server":     (*script).server,
		"controller": (*script).control,
		"requests":   (*script).requests,
		"namespaces": (*script).namespaces,
		"settle":     (*script).settle,
		"writes":     (*script).writes,
		"push":       (*script).push,
		"flux":       (*script).controlFlux,
	} {
		cmds[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			err := run(ts.Value(scriptKey{}).(*script), call{args, ts.MkAbs})
			switch {
			case errors.Is(err, errUsage) || err != nil && !neg:
				ts.Fatalf("%v", err)
			case neg && err == nil:
				ts.Fatalf("unexpected success")
			case neg:
				ts.Logf("[%v]", err)
			}
		}
	}
	return cmds
}
