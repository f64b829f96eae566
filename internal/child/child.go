// Package child runs programs that end with this process, even when it is
// killed. It is for tests, knows nothing of what it runs, and works on Linux
// only.
//
// The kernel can end a child with its parent (Pdeathsig), but what it watches
// is the thread that started the child, and Go ends threads as it likes. So one
// goroutine starts the children, on a thread that it keeps.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Group is some processes that are stopped together. Its methods must not be
// called concurrently.
type Group struct {
	calls     chan func() // what the thread is to do
	processes []*Process
}

// NewGroup returns an empty group, which the caller stops.
func NewGroup() *Group {
	g := &Group{calls: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for call := range g.calls {
			call()
		}
	}()
	return g
}

// Process is a program that runs or has run. Its methods may be called
// concurrently.
type Process struct {
	name  string
	log   string        // path of the file with everything that it printed
	done  chan struct{} // closed when the program has ended
	cmd   *exec.Cmd
	asked atomic.Bool // by Terminate, to end
	// err is how the program ended, once done is closed.
	err error
}

// Start runs the program in dir, where its output goes to a file with its name
// and .log. It gets a process group of its own, so that an interrupt typed at a
// terminal reaches only the tests, and an empty environment, so that nothing of
// the caller's changes what it does.
func (g *Group) Start(program, dir string, args ...string) (*Process, error) {
	name := filepath.Base(program)
	p := &Process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir = dir
	p.cmd.Env = []string{}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	started := make(chan error)
	g.calls <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	g.processes = append(g.processes, p)
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Stop kills the processes: nothing that they would save is of use to anyone.
// The error names those that had ended before by themselves.
func (g *Group) Stop() error {
	var errs []error
	for _, p := range g.processes {
		errs = append(errs, p.kill())
	}
	close(g.calls)
	return errors.Join(errs...)
}

// Kill kills one of the processes, which leaves the group. The error says that
// it had ended before.
func (g *Group) Kill(p *Process) error {
	g.processes = slices.DeleteFunc(g.processes, func(other *Process) bool { return other == p })
	return p.kill()
}

// kill kills the process. That it had ended before, and was not asked to, is
// the error.
func (p *Process) kill() error {
	if p.ended() {
		if p.asked.Load() {
			return nil
		}
		return p.failure()
	}
	// An error means that it has just ended by itself.
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
	return nil
}

// Pids returns the ids of the processes in the order of their start.
func (g *Group) Pids() []int {
	var pids []int
	for _, p := range g.processes {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return pids
}

// Await returns when ready does without an error. It gives up when the program
// ends or the context does.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, err, p.tail())
		case <-tick.C:
		}
	}
}

// Terminate asks the program to end and returns when it has. It fails when the
// program had ended before, fails in the end, or outlives the context.
func (p *Process) Terminate(ctx context.Context) error {
	if p.ended() {
		return p.failure()
	}
	p.asked.Store(true)
	// An error means that it has just ended by itself.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-ctx.Done():
		return fmt.Errorf("%s was asked to end and still runs: %w\n%s", p.name, ctx.Err(), p.tail())
	}
	if p.err != nil {
		return fmt.Errorf("%s failed when it was asked to end: %w\n%s", p.name, p.err, p.tail())
	}
	return nil
}

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// failure says that and why the program has ended too early.
func (p *Process) failure() error {
	err := p.err
	if err == nil {
		err = errors.New("exit status 0")
	}
	return fmt.Errorf("%s ended too early: %w\n%s", p.name, err, p.tail())
}

// tail returns the last lines of the log, for people.
func (p *Process) tail() string {
	const lines = 20
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
