package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"

	"github.com/weir-dev/weir/internal/testcluster"
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
		if err := s.clear(context.Background()); err != nil {
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
			env.Values[scriptKey{}] = &script{stage: s, t: t, ctx: t.Context(), audit: s.cluster.Audit(t)}
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

// explain returns what is known about a script beside its own output: the last
// lines of the controller's log, those about its objects, and events.
func (s *stage) explain(prefix string) string {
	var out strings.Builder
	log, err := s.controller.log()
	if err != nil {
		fmt.Fprintln(&out, err)
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	var about []string
	for _, line := range lines {
		if strings.Contains(line, prefix) {
			about = append(about, line)
		}
	}
	fmt.Fprintf(&out, "[log of weir-controller about %s]\n%s\n", prefix, tail(about, 40))
	fmt.Fprintf(&out, "[end of the log of weir-controller]\n%s\n", tail(lines, 10))
	out.WriteString(s.flux.explain(prefix))
	fmt.Fprintf(&out, "[events]\n")
	var events v1.EventList
	if err := s.client.List(context.Background(), &events); err != nil {
		fmt.Fprintln(&out, err)
	}
	for _, e := range events.Items {
		if o := e.InvolvedObject; strings.HasPrefix(o.Namespace, prefix) || strings.HasPrefix(o.Name, prefix) {
			fmt.Fprintf(&out, "%s %s %s/%s: %s: %s\n", e.Type, o.Kind, o.Namespace, o.Name, e.Reason, e.Message)
		}
	}
	return out.String()
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
		"artifact":   (*script).artifact,
		"controller": (*script).control,
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
