package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pollEvery is the pause between two runs of a polled program.
const pollEvery = 250 * time.Millisecond

// poll runs a program again and again.
type poll struct {
	within     time.Duration
	match, not *regexp.Regexp // nil: any output will do
	program    []string
}

// run is how the program ended.
type run struct {
	stdout, stderr []byte
	err            error
}

// eventually runs a program until it does as its flags want and prints what it
// printed last. It returns the exit status.
func eventually(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p, err := parsePoll("eventually", time.Minute, args)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	last, happened := p.happens(ctx)
	fmt.Fprintf(stdout, "%s", last.stdout)
	fmt.Fprintf(stderr, "%s", last.stderr)
	if happened {
		return 0
	}
	if last.err != nil {
		fmt.Fprintln(stderr, last.err)
	}
	fmt.Fprintf(stderr, "did not happen within %v\n", p.within)
	return 1
}

// never is the opposite of eventually.
func never(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p, err := parsePoll("never", 5*time.Second, args)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	last, happened := p.happens(ctx)
	if errors.Is(last.err, exec.ErrNotFound) {
		fmt.Fprintln(stderr, last.err)
		return 2
	}
	if !happened {
		return 0
	}
	fmt.Fprintf(stdout, "%s", last.stdout)
	fmt.Fprintf(stderr, "%shappened\n", last.stderr)
	return 1
}

func parsePoll(name string, within time.Duration, args []string) (*poll, error) {
	p := &poll{}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	flags.DurationVar(&p.within, "t", within, "how long")
	flags.Func("match", "what stdout must match", pattern(&p.match))
	flags.Func("not", "what stdout must not match", pattern(&p.not))
	if err := flags.Parse(args); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if p.program = flags.Args(); len(p.program) == 0 {
		return nil, fmt.Errorf("%s: no program", name)
	}
	return p, nil
}

// pattern returns a function that sets the expression, whose ^ and $ match at
// lines as they do in testscript's stdout command.
func pattern(to **regexp.Regexp) func(string) error {
	return func(text string) (err error) {
		*to, err = regexp.Compile("(?m)" + text)
		return err
	}
}

// happens reports whether the program does as wanted in time, and its last
// run. A run that the end of the time cut off is not the last one, unless
// there was no other.
func (p *poll) happens(ctx context.Context) (last run, happened bool) {
	ctx, cancel := context.WithTimeout(ctx, p.within)
	defer cancel()
	for first := true; ; first = false {
		r := p.once(ctx)
		if ctx.Err() == nil || first {
			last = r
		}
		if ctx.Err() == nil && p.wanted(r) {
			return r, true
		}
		select {
		case <-ctx.Done():
			return last, false
		case <-time.After(pollEvery):
		}
	}
}

func (p *poll) once(ctx context.Context) run {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, p.program[0], p.program[1:]...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// What a shell has started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	return run{stdout.Bytes(), stderr.Bytes(), err}
}

func (p *poll) wanted(r run) bool {
	// Without the end of its last line an output has no empty line after it.
	out := bytes.TrimRight(r.stdout, "\n")
	return r.err == nil && (p.match == nil || p.match.Match(out)) && (p.not == nil || !p.not.Match(out))
}

func TestPoll(t *testing.T) {
	t.Parallel()
	count := func(rest string) string { return "echo >>n; " + rest }
	for name, c := range map[string]struct {
		poll   func(context.Context, []string, io.Writer, io.Writer) int
		args   string // before the shell
		script string
		status int
		stdout string
		stderr string
	}{
		"eventually succeeds":             {eventually, "", count("test $(wc -l <n) -ge 2"), 0, "", ""},
		"eventually matches":              {eventually, "-match ^2$", count("wc -l <n"), 0, "2\n", ""},
		"eventually no longer matches":    {eventually, "-not ^1$", count("wc -l <n"), 0, "2\n", ""},
		"an output is not empty":          {eventually, "-not ^$ -t 2s", "echo x", 0, "x\n", ""},
		"no output is empty":              {eventually, "-not ^$ -t 1s", "echo", 1, "\n", "did not happen within 1s\n"},
		"a failure that prints is none":   {eventually, "-match x -t 1s", "echo x; exit 3", 1, "x\n", "exit status 3\ndid not happen within 1s\n"},
		"it need not wait for the end":    {eventually, "-t 1s", "echo x; sleep 60", 1, "x\n", "signal: killed\ndid not happen within 1s\n"},
		"never":                           {never, "-t 1s", "exit 1", 0, "", ""},
		"never matches":                   {never, "-t 1s -match y", "echo x", 0, "", ""},
		"never but once":                  {never, "-match 2", count("wc -l <n"), 1, "2\n", "happened\n"},
		"a wrong expression":              {eventually, "-match (", "", 2, "", "eventually: invalid value"},
		"no such flag is no never either": {never, "-mtach x", "", 2, "", "never: flag provided but not defined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr strings.Builder
			args := append(strings.Fields(c.args), "sh", "-c", "cd "+t.TempDir()+"; "+c.script)
			status := c.poll(t.Context(), args, &stdout, &stderr)
			if status != c.status || stdout.String() != c.stdout || !strings.HasPrefix(stderr.String(), c.stderr) {
				t.Errorf("status %d, stdout %q, stderr %q; want %d, %q, %q", status, &stdout, &stderr, c.status, c.stdout, c.stderr)
			}
		})
	}
}

func TestNeverNeedsAProgram(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	if status := never(t.Context(), []string{"-t", "1s", "no-such-program"}, io.Discard, &stderr); status == 0 {
		t.Errorf("a program that is not there did what it should not: %s", &stderr)
	}
}
